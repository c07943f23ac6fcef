"""Where runs are kept: the database, its rows, the plans of runs."""

from ringside.store.database import Store, now, stamp, text_hash

__all__ = ["Store", "now", "stamp", "text_hash"]
