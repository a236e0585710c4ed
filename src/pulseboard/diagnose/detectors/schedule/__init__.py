"""The learning-rate schedule."""
