"""Sleepers: each of N tasks sleeps until its own instant."""
