"""Plots of a run as Vega-Lite specifications, which nothing here draws. Colours are CSS variables
(`var(--c0)`), so the page decides how they look in light, in dark and on paper."""
