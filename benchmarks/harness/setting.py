"""Where and of what the figures were taken: machine, versions, commit and date. No names of hosts or people."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from benchmarks.harness.paths import REPOSITORY


def machine() -> str:
    """Cores, processor and system."""
    return f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release().split('-')[0]}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(*packages: str) -> str:
    """The versions of Python and of the packages, as installed here."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def commit() -> str:
    """The checked-out commit, and whether the package has changes on top of it."""
    changed = _git("status", "--porcelain", "--", "src")
    head = _git("rev-parse", "--short", "HEAD")
    return head + (" with uncommitted changes to src" if changed else "") if head else "a tree without git"


def changes() -> str:
    """A digest of what is changed on top of the commit, in the package and in the benchmarks."""
    return hashlib.sha256(_git("diff", "HEAD", "--", "src", "benchmarks").encode()).hexdigest()[:16]


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(REPOSITORY), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def today() -> str:
    """The date, UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as a report may show it: relative to the repository, or outside it only the file name."""
    absolute = Path(path).resolve()
    return str(absolute.relative_to(REPOSITORY)) if absolute.is_relative_to(REPOSITORY) else absolute.name
