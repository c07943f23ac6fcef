"""Requests: upstreams that the probe plays."""

from __future__ import annotations

from ringside.probe.protocol.base import Request


class ConstantDelay(Request, frozen=True, tag_field="kind", tag="constant"):
    """Always the same."""

    s: float


class LognormalDelay(Request, frozen=True, tag_field="kind", tag="lognormal"):
    """The logarithm is normal with standard deviation `sigma`."""

    median_s: float
    sigma: float


class BimodalDelay(Request, frozen=True, tag_field="kind", tag="bimodal"):
    """`slow_s` with a probability of `slow_share`, else `fast_s`."""

    fast_s: float
    slow_s: float
    slow_share: float


class TailedDelay(Request, frozen=True, tag_field="kind", tag="tailed"):
    """Lognormal, but `tail_s` with a probability of `tail_share`."""

    median_s: float
    sigma: float
    tail_s: float
    tail_share: float


Delay = ConstantDelay | LognormalDelay | BimodalDelay | TailedDelay


class Upstream(Request, frozen=True):
    """One upstream: how long it takes, what it answers, and how often it breaks off or hangs."""

    delay: Delay
    status: int = 200
    body: str = ""
    reset_share: float = 0.0
    hang_share: float = 0.0


class Stub(Request, frozen=True):
    """The upstreams of a gateway."""

    upstreams: tuple[Upstream, ...]
    seed: int = 0
    cpus: tuple[int, ...] = ()
