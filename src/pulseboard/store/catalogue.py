"""The catalogue: which tags runs have. Runs of one training mostly have the same, and share one entry."""

from __future__ import annotations

from dataclasses import dataclass

from pulseboard.files import kinds
from pulseboard.native import kernel
from pulseboard.read.run import Run, TagInfo

_MOST_SHAPES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The tags of some runs, in order of appearance, and the kinds of data of each and of all."""

    tags: dict[str, tuple[str, ...]]
    kinds: tuple[str, ...]


class Catalogue:
    """Shapes by what the files say of themselves. Any thread may ask."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[bytes, ...], Shape] = {}

    def shape_of(self, run: Run) -> Shape:
        """The tags that the run has now."""
        key = tuple(file.log.shape() for file in run.files)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _MOST_SHAPES:  # tags that come and go without end
                self._shapes.clear()
            found = self._shapes[key] = _shape(key)
        return found


def _shape(files: tuple[bytes, ...]) -> Shape:
    infos: dict[str, TagInfo] = {}
    for file in files:
        for name, plugin, whats, has_points in kernel.tags_of(file):
            info = infos.setdefault(name, TagInfo(name))
            info.plugin = plugin if info.plugin is None else info.plugin
            info.points += has_points
            info.whats.update(kinds.whats_of(whats))
    tags = {name: tuple(info.kinds) for name, info in infos.items()}
    return Shape(tags, tuple(dict.fromkeys(kind for of_tag in tags.values() for kind in of_tag)))
