"""formats: one file per log format, each with a reader declared by `@reader` (read/format.py)."""
