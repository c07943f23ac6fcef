"""Frozen types of the domain. Depends on `probe.protocol` only."""
