"""The fan-out gateway: an HTTP request makes three calls at the same time. Its contract stands in
docs/PROTOCOL.md; it goes back to the post of 2016 on Go and Tornado."""

from ringside.workloads.fanout.workload import FANOUT as FANOUT
