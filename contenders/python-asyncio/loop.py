"""`run`: that of asyncio, or of uvloop where the environment names that loop."""

import os

if os.environ.get("LOOP") == "uvloop":
    from uvloop import run
else:
    from asyncio import run

__all__ = ["run"]
