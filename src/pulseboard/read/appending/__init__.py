"""appending: what a log got since it was last read is added to its series, at a cost that depends on nothing else."""
