"""Runs of experiments: plan, preparation, the loop over blocks, and trials of contenders."""
