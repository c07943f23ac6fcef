"""Plots of a run as Vega-Lite specifications: a module for each kind. Nothing is drawn here.

Colours are CSS variables (`var(--c0)`), so the page decides how they look in light, in dark and on paper.
"""
