"""`ringside check`: whether a contender keeps contract 1, seen from outside."""
