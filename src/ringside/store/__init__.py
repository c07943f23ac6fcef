"""Keeps runs: the database, its rows, the plans of runs."""

from ringside.store.database import RunSummary, Store, now, stamp, text_hash

__all__ = ["RunSummary", "Store", "now", "stamp", "text_hash"]
