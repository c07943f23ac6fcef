"""The fibonacci service: lines over TCP, each answered by naive recursion."""
