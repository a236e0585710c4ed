"""Adversarial training: two networks that should keep each other in check."""
