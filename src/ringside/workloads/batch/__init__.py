"""The parallel batch: T independent cases from one input, answered in order."""
