"""The live page (`ringside serve`): runs of a store over HTTP, read-only, for browsers of this machine."""
