"""Feeds: the server holds responses open and sends a chunk on each of them every interval."""
