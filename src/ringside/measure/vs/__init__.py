"""Commands that are compared: `ringside vs`."""
