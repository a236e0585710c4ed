"""charts: runs and series in; windows, group statistics and tables out.

Keeps series at full resolution in memory, and an index of what was read in the user's cache directory. Opens no
socket, draws nothing, and never writes below a log directory.
"""
