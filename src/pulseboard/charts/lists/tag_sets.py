"""Which tags runs have. Runs of the same training code usually have the same tags and share one entry."""

from __future__ import annotations

from dataclasses import dataclass

from pulseboard.kernel.tag_table import pack_tags, unpack_tags
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds

_MAX_TAG_SETS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TagSet:
    """The tags of some runs in order of appearance, with the kinds of data of each tag and of all together."""

    tags: dict[str, tuple[str, ...]]
    kinds: tuple[str, ...]


_Digest = tuple[tuple[bytes, ...], tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]
"""The tags of a run: the kernel's digests of its event files, the scalar tags of its other logs, and the tags with
their kinds of a run that is not in files."""


class TagSets:
    """Finds the tag set of a run by a digest. Thread-safe."""

    def __init__(self) -> None:
        self._by_digest: dict[_Digest, TagSet] = {}

    def of(self, run: Run) -> TagSet:
        """The tags that the run has now."""
        main = run.main
        digest: _Digest
        if isinstance(main, EventFileRun):
            files = tuple(pack_tags(file.log) for file in main.files)
            digest = (files, () if main is run else tuple(run.tags(kinds.SCALAR)), ())
        elif isinstance(main, ParsedRun):
            digest = ((), tuple(run.tags(kinds.SCALAR)), ())
        else:
            digest = ((), (), tuple((tag, tuple(info.kinds)) for tag, info in run.infos().items()))
        found = self._by_digest.get(digest)
        if found is None:
            if len(self._by_digest) >= _MAX_TAG_SETS:  # a run that keeps adding tags
                self._by_digest.clear()
            found = self._by_digest[digest] = _decode(digest)
        return found


def _decode(digest: _Digest) -> TagSet:
    infos: dict[str, TagInfo] = {}
    files, scalar_tags, with_kinds = digest
    for file in files:
        for name, plugin, fields, has_points in unpack_tags(file):
            info = infos.setdefault(name, TagInfo(name))
            info.plugin = plugin if info.plugin is None else info.plugin
            info.points += has_points
            info.fields.update(kinds.fields_in(fields))
    for name in scalar_tags:
        infos.setdefault(name, TagInfo(name)).points += 1
    tags = {name: tuple(info.kinds) for name, info in infos.items()} | dict(with_kinds)
    return TagSet(tags, tuple(dict.fromkeys(kind for of_tag in tags.values() for kind in of_tag)))
