"""formats: one file per output format, each declared by `@export_format` (export/format.py)."""
