"""Any commands against each other, in pairs: `ringside vs`."""
