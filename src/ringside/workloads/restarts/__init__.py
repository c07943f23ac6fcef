"""Restarts: N units have state; some fail, and new units replace them."""
