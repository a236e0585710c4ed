"""Validation losses and scores."""
