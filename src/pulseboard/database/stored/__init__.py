"""A database in, runs and charts out, like those of a log directory."""
