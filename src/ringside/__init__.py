"""Ringside, a laboratory for concurrency models."""

__version__ = "0.1.0"
