"""Whether and how fast the weights change."""
