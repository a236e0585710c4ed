"""active: the parts of an active run that are not logging: its configuration, summary, files and live diagnosis."""
