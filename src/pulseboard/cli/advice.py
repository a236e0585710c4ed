"""What to do when there is nothing to show: a path that does not exist, may not be read, or holds no logs."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable

from pulseboard.cli.nearby_logs import find_logs
from pulseboard.rundir import layout

DEMO = "To see it work first: pulseboard demo"


def on_missing(given: str) -> str | None:
    """Advice for a log directory that does not exist; None if there is none."""
    # scp's way of writing a directory on another machine is our way of naming a local one.
    name, path = layout.split_named_path(given)
    if name and path.startswith("/"):
        return f"If {name!r} is a machine, write: pulseboard ssh://{name}{path}"
    if machine := re.fullmatch(r"([\w.-]+@[\w.-]+):(.+)", given):
        return f"For a directory on another machine, write: pulseboard ssh://{machine[1]}/{machine[2].lstrip('/')}"
    path = path.rstrip(os.sep)
    parent, wanted = os.path.split(os.path.abspath(path))
    try:
        names = [entry.name for entry in os.scandir(parent) if entry.is_dir()]
    except OSError:
        return None if os.path.isdir(parent) else f"{parent} does not exist either."
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.6)
    return f"Did you mean {os.path.join(os.path.dirname(path), close[0])}?" if close else None


def on_empty(paths: Iterable[str]) -> list[str]:
    """Advice for log directories in which no run was found, one line each."""
    lines = []
    for path in paths:
        if not os.path.exists(path):
            continue
        if not os.access(path, os.R_OK | os.X_OK):
            lines.append(f"You have no permission to read it: ls -ld {path}")
        elif os.path.isdir(path) and not os.listdir(path):
            lines.append(f"It is empty: {path}")
        else:
            lines.append(f"No event files or other supported logs in {path}")
            above = os.path.dirname(os.path.abspath(path))
            if near := [one for one in find_logs(above, max_secs=0.5) if not os.path.samefile(one, path)]:
                lines.append(f"There are logs in {', '.join(near[:3])}")
    return lines
