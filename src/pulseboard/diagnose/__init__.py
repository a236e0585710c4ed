"""diagnose: series in, findings and their likely causes out.

Detectors see a case and nothing else: no files, no clock, no network. So a finding can be reproduced from the saved
run. Never writes into a log directory.
"""
