"""The environment of the training process: command, host, versions, git commit."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
from typing import Any

from pulseboard.record.liveness import this_process

_GIT_TIMEOUT_SECS = 5


def describe_process() -> dict[str, Any]:
    """How and where this process runs, as fields of run.json."""
    return {
        "command": " ".join([os.path.basename(sys.executable), *sys.argv]) if sys.argv else "",
        "program": sys.argv[0] if sys.argv else "",
        "working_directory": os.getcwd(),
        "host": socket.gethostname(),
        "user": _user(),
        "pid": os.getpid(),
        "versions": _versions(),
        "platform": platform.platform(),
        **this_process(),
    }


def describe_git() -> dict[str, Any] | None:
    """The commit of the working directory and whether it has changes; None outside a repository.

    Git may take seconds in a large repository: call this from a background thread.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "branch": _git("branch", "--show-current"), "dirty": bool(_git("status", "--porcelain"))}


def _git(*args: str) -> str | None:
    # Without locks: ended by the timeout, git would leave a lock behind that stops every later command of the user.
    command = ["git", "--no-optional-locks", *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_SECS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in ("pulseboard", "torch", "numpy", "jax", "tensorflow", "transformers", "lightning"):
        # Only packages the training has imported, and without importing more.
        if name == "pulseboard" or name in sys.modules:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
    return versions
