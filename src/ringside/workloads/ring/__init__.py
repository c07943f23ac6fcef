"""The message ring: M messages through a chain of N units (docs/PROTOCOL.md, `ring`)."""

from ringside.workloads.ring.workload import RING as RING
from ringside.workloads.ring.workload import checksum as checksum
from ringside.workloads.ring.workload import order as order
