"""Log directories in, rows out: every point once, whatever is killed in the meantime."""
