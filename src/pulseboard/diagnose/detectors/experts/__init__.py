"""Mixture-of-experts training."""
