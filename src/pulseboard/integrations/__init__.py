"""integrations: other people's training loops. What a framework reports comes in, calls of a Run go out.

One file a framework, named for it; only that file imports it. Measures nothing of its own, and makes no run
in a process that the framework does not let log.
"""
