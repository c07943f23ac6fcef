"""The fibonacci service: lines over TCP; the server answers each by naive recursion."""
