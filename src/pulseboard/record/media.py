"""Placeholder."""


class Media:
    """."""
