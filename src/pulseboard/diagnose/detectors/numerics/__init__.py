"""Values that are NaN, infinite, zero or impossible, and mixed precision."""
