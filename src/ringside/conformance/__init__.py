"""`ringside check`: whether a contender keeps docs/PROTOCOL.md, seen from outside."""
