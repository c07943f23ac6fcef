"""Background jobs: up to W of J jobs run at one time while the program does other work."""
