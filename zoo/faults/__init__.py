"""The faults, grouped by what they break: one small function each."""
