"""The fibonacci service: lines over TCP, each answered by naive recursion. Its contract stands in
docs/PROTOCOL.md; it goes back to the post of 2015 on Python and Go, and by it to a talk of that year."""

from ringside.workloads.fib.workload import FIB as FIB
