"""console: records as lines of text for people."""
