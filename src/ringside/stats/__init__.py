"""Pure functions: numbers in, numbers out. Nothing here reads a store or starts anything."""
