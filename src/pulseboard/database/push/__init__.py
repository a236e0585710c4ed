"""Log directories in, rows out: every point exactly once, even if a process is killed."""
