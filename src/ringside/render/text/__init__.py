"""An analysis in words and tables, in a terminal and as Markdown."""
