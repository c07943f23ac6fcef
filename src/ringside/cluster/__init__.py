"""Several machines by Ray: who takes part, what they need, and the blocks that they carry out."""
