"""Background jobs: J of them, W at one time, while other work goes on (docs/PROTOCOL.md, `jobs`)."""

from ringside.workloads.jobs.workload import JOBS as JOBS
