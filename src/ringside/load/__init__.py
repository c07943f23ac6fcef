"""`ringside load`: options of the command line to a request, the engine's messages to figures. Nothing here
starts the engine: the command does."""
