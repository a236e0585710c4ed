"""trackers: the files of experiment trackers."""
