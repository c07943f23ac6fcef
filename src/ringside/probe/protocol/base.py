"""What requests and messages have in common."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

VERSION = 1

# The store keeps signed integers of 64 bits.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Nanoseconds = Count
Bytes = Count
# A histogram as `value_ns count value_ns count …`, values ascending: a text, since a store with thousands of
# trials has many.
Counts = Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,19} [0-9]{1,19}( [0-9]{1,19} [0-9]{1,19})*)?\Z")]


class Request(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a request. Keys at their defaults are left out: the probe has the same defaults."""


class Message(msgspec.Struct, frozen=True):
    """A part of a message."""


def encoded(request: Request, version: int) -> bytes:
    """A whole request as one line of JSON, without its newline."""
    # The version is always sent, though it is a default.
    return msgspec.json.encode({"version": version, **msgspec.to_builtins(request)})


def plain(message: Message | tuple[Message, ...]) -> Any:
    """A message as JSON values, for the store. Keys of a wire message, without its `type`."""
    return msgspec.to_builtins(message)
