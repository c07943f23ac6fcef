"""The fan-out gateway: each request calls three upstreams at one time, or adds up three sums."""
