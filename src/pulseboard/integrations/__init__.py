"""integrations: loggers and callbacks for training frameworks. A framework's reports in, calls of a Run out.

One file per framework, and only that file imports it. Measures nothing itself, and creates no run in processes where
the framework does not log.
"""
