"""A reading: which tag of a run has which role, how certainly, and what was not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RoleReading:
    """How one tag was read."""

    tag: str
    role: str
    sure: float  # 0 to 1
    why: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How the tags of a run were read."""

    tags: Mapping[str, tuple[str, ...]]  # role -> tags, the one that counts first
    doubtful: tuple[str, ...] = ()  # sentences about tags that may have been read wrongly
    twins: Mapping[str, str] = field(default_factory=dict)  # validation tag -> training tag of the same quantity
    maximized: frozenset[str] = frozenset()  # losses that rise as the model learns
    readings: tuple[RoleReading, ...] = ()
    unread: tuple[str, ...] = ()

    def first(self, role: str) -> str | None:
        """The tag that has the role; of several, the one that counts."""
        found = self.tags.get(role)
        return found[0] if found else None
