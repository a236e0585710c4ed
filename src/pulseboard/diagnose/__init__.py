"""diagnose: series in, findings and their likely causes out.

Detectors see a case and nothing else: no files, no clock, no network, so that a finding can be told again from the
saved run. Never writes into a log directory.
"""
