"""The message ring: M messages through a chain of N units."""
