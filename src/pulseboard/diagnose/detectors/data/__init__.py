"""Training data, its order, and restarts."""
