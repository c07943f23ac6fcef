"""The parallel batch: T independent cases from one input, answered in order (docs/PROTOCOL.md, `batch`)."""

from ringside.workloads.batch.workload import BATCH as BATCH
