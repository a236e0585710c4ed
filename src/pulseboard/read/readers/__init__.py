"""readers: one file for each log format."""
