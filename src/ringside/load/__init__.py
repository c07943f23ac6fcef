"""What `ringside load` is driven at, and what it shows. Nothing here starts the engine: the command does."""
