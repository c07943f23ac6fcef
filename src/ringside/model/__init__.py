"""Frozen types of the domain. Imports nothing of ours."""
