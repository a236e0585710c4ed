"""math: array operations that work on torch tensors and NumPy arrays alike."""
