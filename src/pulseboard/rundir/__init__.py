"""rundir: the files of a run's directory other than event files, and how to read and write them safely.

Names and layout, run.json, the modules file, the JSON log, archives. Never imports record or read.
"""
