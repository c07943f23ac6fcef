"""Formats an analysis: tables, terminal, Markdown, JSON, CSV, HTML, plots, exports. Computes nothing."""
