"""The tests that detectors share: each one question about one or two series."""
