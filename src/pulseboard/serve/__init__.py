"""serve: HTTP requests in, JSON, binary columns and event streams out.

Never opens a path that a request names: runs and tags are looked up by name among those already read. Never writes
below a log directory.
"""
