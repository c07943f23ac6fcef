"""From a run's rows to tables, documents and pages. Nothing here starts anything."""
