"""cli: joins rooms together for the terminal. One file a command; no logic of its own."""

from pulseboard.cli.main import main

__all__ = ["main"]
