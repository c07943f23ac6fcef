"""The probe: every request and message as a type, and the one driver of its process."""
