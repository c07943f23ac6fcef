"""Documents and files for other tools."""
