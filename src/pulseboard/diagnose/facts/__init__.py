"""facts: what is true of a run, each fact computed once, in every way the log allows, or unknown.

Detectors and causes ask facts; facts never ask detectors.
"""
