"""The command line: one file for each command. All share these exit statuses; 0 is done."""

# Done, but a gate failed, a command failed, or cells have no figures.
EXIT_FAILED = 1
# Wrong use, or nothing could be done.
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
