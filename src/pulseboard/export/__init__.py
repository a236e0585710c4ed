"""export: runs in, one file out, with every point of every run. One file per output format in `formats/`."""
