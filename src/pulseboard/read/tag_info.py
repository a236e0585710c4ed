"""What a run holds under one tag: how much, and of which kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulseboard.core.axes import Tag
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.read.event_files.event_file import TagEntry


class TagInfo:
    """One tag of a run."""

    __slots__ = ("bytes", "fields", "plugin", "points", "spans", "tag")

    def __init__(self, tag: Tag, *, points: int = 0) -> None:
        self.tag = tag
        self.plugin: str | None = None  # the first that any file names: writers name it only once
        self.points = points  # scalar points, orphaned ones included
        self.spans = 0  # values of other kinds
        self.bytes = 0
        self.fields: set[int] = set()  # of the event file that its spans come from: tbformat/kinds.py

    def add(self, entry: TagEntry) -> None:
        """Count in what one more file holds."""
        self.plugin = entry.plugin if self.plugin is None else self.plugin
        self.points += entry.points
        self.spans += entry.spans
        self.bytes += entry.bytes
        if entry.span_fields:
            self.fields.update(kinds.fields_in(entry.span_fields))

    @property
    def kinds(self) -> list[str]:
        """The kinds of data under the tag; more than one only if two writers used the same tag."""
        found = [kinds.SCALAR] if self.points else []
        if not self.fields:
            return found
        found += [kinds.kind_of(number, self.plugin) for number in sorted(self.fields)]
        return [kind for kind in dict.fromkeys(found) if kind != kinds.DECLARATION]
