"""Forks: which run another one was forked from."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from pulseboard.rundir.run_file import Fork


@dataclass(frozen=True, slots=True)
class KnownFork:
    """A run's parent among the runs of a chart, and the last step that the run has of it."""

    parent: str
    step: int


def find_parent(run: str, fork: Fork, runs: Iterable[str]) -> KnownFork | None:
    """The parent of a run among these: the one next to it, or else any with its id. None if there is none."""
    names = [name for name in runs if name != run and posixpath.basename(name) == fork.run]
    sibling = posixpath.join(posixpath.dirname(run), fork.run)
    return KnownFork(sibling if sibling in names else min(names), fork.step) if names else None
