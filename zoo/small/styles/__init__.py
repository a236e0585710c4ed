"""Log styles, one file each, with a constant STYLE."""
