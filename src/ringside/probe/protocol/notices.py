"""What the probe is told while engines on other machines carry out the loads of its trial: lines of JSON."""

from __future__ import annotations

import msgspec

from ringside.probe.protocol.base import Request
from ringside.probe.protocol.messages import EngineRecord


class Begun(Request, frozen=True):
    """How many engines share each load of the step, and how far apart they started at most."""

    engines: tuple[int, ...]
    within_ns: int


class PartRecord(Request, frozen=True):
    """What one engine counted of a load, by its number in the step. `io`: its back-end."""

    load: int
    io: str
    record: EngineRecord


class Notice(Request, frozen=True):
    """A line of them."""

    def encode(self) -> bytes:
        """The notice as one line of JSON, without its newline."""
        return msgspec.json.encode(self)


class LoadsBegun(Notice, frozen=True):
    """The engines have been started."""

    begun: Begun


class PartEnded(Notice, frozen=True):
    """An engine has ended its part of a load."""

    record: PartRecord


class LoadsFailed(Notice, frozen=True):
    """The loads of the step do not take place: why, in one line."""

    failed: str
