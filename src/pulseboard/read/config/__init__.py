"""Configurations of runs, from wherever a training left one: in the log, in texts, and in files next to the log."""
