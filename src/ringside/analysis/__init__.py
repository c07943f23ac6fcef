"""From a run's trials to one frozen analysis. Computes; formats nothing."""
