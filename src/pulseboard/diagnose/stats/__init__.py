"""Statistics that detectors share; each answers one question about one or two series."""
