"""Background jobs: J of them, W at one time, while other work goes on."""
