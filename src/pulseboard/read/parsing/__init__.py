"""parsing: text, numbers, rows and YAML of unknown origin. Shared by the readers in `formats/`."""
