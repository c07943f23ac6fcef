"""Finds and reads contenders, experiments and published figures."""
