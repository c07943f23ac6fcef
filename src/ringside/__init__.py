"""Ringside, a laboratory for concurrency models."""

__version__ = "0.2.0"
