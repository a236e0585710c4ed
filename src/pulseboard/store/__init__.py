"""store: runs and series in, answers for charts and tables out.

Keeps columns at full resolution in memory and an index of what was read in the user's cache directory.
Opens no socket, draws nothing, and never writes below a log directory.
"""
