"""Plots as Vega-Lite specifications."""
