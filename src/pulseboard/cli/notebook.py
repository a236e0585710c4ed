"""`%load_ext pulseboard`: the dashboard in a notebook cell.

%load_ext pulseboard
%pulseboard --logdir runs
"""

from __future__ import annotations

import shlex
from typing import Any

from pulseboard.cli.commands.view import serve as command
from pulseboard.serve.background import BackgroundServer, serve

# Notebook pages served from this machine may embed the dashboard in a frame.
_FRAMES = ("'self'", "http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "vscode-webview:")

_running: dict[str, BackgroundServer] = {}


def load(shell: Any) -> None:
    """Register `%pulseboard` with the shell."""
    shell.register_magic_function(show, "line", "pulseboard")


def unload(shell: Any) -> None:
    """Stop the servers that the notebook started."""
    while _running:
        _running.popitem()[1].stop()


def show(line: str) -> BackgroundServer:
    """Show the dashboard for these arguments. The same arguments reuse the running server."""
    if line not in _running:
        args = command.arguments(shlex.split(line))
        _running[line] = serve(*command.paths_of(args), **{**command.options_of(args), "frame_ancestors": _FRAMES})
    return _running[line]
