"""Ranges that a profile or earlier runs lead us to expect."""
