"""Sleepers: N tasks, each of which sleeps until its own instant."""
