"""Runtimes and builds of contenders: what is installed, what is missing, what has changed."""
