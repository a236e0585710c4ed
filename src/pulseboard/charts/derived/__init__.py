"""Curves that are computed from other curves: over a metric instead of steps, and expressions over tags."""
