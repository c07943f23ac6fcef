"""Feeds: answers held open, a chunk on each of them every interval."""
