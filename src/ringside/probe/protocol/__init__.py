"""The contract of the probe (docs/PROBE.md): what is asked of the probe and every message from it, as types.

Messages are validated when they are read: a missing key, a value of another type or a negative count is an
error. Keys that this version does not know are ignored, so that stores of later versions can be read. Fields
that a probe of the same version always sends have defaults only where rows of older stores lack them.
"""

# Types are public here, and each has its name in one place.
# ruff: noqa: F403
from ringside.probe.protocol.messages import *
from ringside.probe.protocol.requests import *
