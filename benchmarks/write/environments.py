"""Which Python runs a tool: this one, or an environment of the tool's own below .bench/.

`python -m benchmarks.write.environments` makes those that are missing, which takes minutes: no run has to wait for it.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks.harness.paths import BENCH
from benchmarks.write.tools import TOOLS, Tool

_PIP_SECS = 900.0


def python_for(tool: type[Tool], *, install: bool) -> str | None:
    """The interpreter that can import the tool; None if it is not installed and cannot be.

    Trackers pin versions that conflict with each other and with ours, so each that is not here already gets an
    environment of its own.
    """
    if all(find_spec(module) for module in tool.modules):
        return sys.executable
    if tool.requirement is None:
        return None
    home = BENCH / "venvs" / tool.id
    if not (home / "done").exists() and not (install and _installed(tool.requirement, home=str(home))):
        return None
    (home / "done").touch()
    return str(home / "bin" / "python")


def _installed(requirement: str, *, home: str) -> bool:
    pip = [f"{home}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", "--clear", home], [*pip, requirement, "numpy"]):
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_PIP_SECS)
        except (OSError, subprocess.SubprocessError):
            return False
    return True


def main() -> None:
    """Install what is missing, and print which tools are there."""
    for tool in TOOLS.values():
        python = python_for(tool, install=True)
        print(f"{tool.label}: {'installed' if python else 'cannot be installed'}", flush=True)


if __name__ == "__main__":
    main()
