"""The fan-out gateway: each request calls three upstreams at the same time, or computes three sums."""
