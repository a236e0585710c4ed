"""readers: one file for each log format. All but event_file.py declare themselves with `@reader`: read/reader.py."""
