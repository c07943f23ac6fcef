"""`ringside load`: words of the command line to a request, the engine's answers to figures. Only the verb
starts anything."""
