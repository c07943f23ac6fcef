"""Restarts: N units with state; some fail and are replaced."""
