"""Folders to publish: a site of runs, a post about one, a badge."""
