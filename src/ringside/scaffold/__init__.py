"""`ringside new contender`: a contender to begin with, in one of several languages."""
