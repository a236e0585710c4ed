"""`%load_ext pulseboard`: the dashboard in a notebook's cell.

%load_ext pulseboard
%pulseboard --logdir runs
"""

from __future__ import annotations

import shlex
from typing import Any

from pulseboard.cli.commands import serve as command
from pulseboard.serve.background import Background, serve

# Pages of notebooks that run on this machine may show the dashboard in a frame.
_FRAMES = ("'self'", "http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "vscode-webview:")

_running: dict[str, Background] = {}


def load(shell: Any) -> None:
    """Make `%pulseboard` known to the shell."""
    shell.register_magic_function(show, "line", "pulseboard")


def unload(shell: Any) -> None:
    """End what the notebook has started."""
    while _running:
        _running.popitem()[1].stop()


def show(line: str) -> Background:
    """The dashboard that these arguments name; the same arguments show the same server again."""
    if line not in _running:
        args = command.arguments(shlex.split(line))
        _running[line] = serve(*command.paths_of(args), **{**command.options_of(args), "frame_ancestors": _FRAMES})
    return _running[line]
