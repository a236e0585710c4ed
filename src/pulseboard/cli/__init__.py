"""cli: the `pulseboard` command. One file per command; the work is done by other rooms."""

from pulseboard.cli.main import main

__all__ = ["main"]
