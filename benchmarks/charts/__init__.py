"""charts: what charts, lists and restarts cost without HTTP."""
