"""Waits until a target accepts connections."""

from __future__ import annotations

import time

from ringside.errors import UsageError
from ringside.load.target import Target, accepts, resolve

_PAUSE_S = 0.05


def wait(target: Target, limit_s: float) -> bool:
    """Wait until an address of the target accepts a connection; False where none did within the limit. A name
    without an address may get one meanwhile. Raises UsageError where it has none at the end."""
    end = time.monotonic() + limit_s
    while True:
        left_s = end - time.monotonic()
        try:
            addresses = resolve(target)
        except UsageError:
            if left_s <= 0:
                raise
            addresses = []
        if any(accepts(address) for address in addresses):
            return True
        if left_s <= 0:
            return False
        time.sleep(min(_PAUSE_S, left_s))
