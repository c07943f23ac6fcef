"""The message ring: M messages pass through a chain of N units."""
