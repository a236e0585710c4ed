"""read: speed and memory of the reader, many runs, following, other formats and CSV export, next to other readers."""
