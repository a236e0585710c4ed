"""Faults, grouped by what they break; each is one small function."""
