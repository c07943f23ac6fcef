"""The targets and results of `ringside load`. Nothing here starts the engine: the command does."""
