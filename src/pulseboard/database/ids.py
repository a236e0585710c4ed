"""Ids of runs, parts and tags: hashes, so that pushers on many hosts need not agree on numbers."""

from __future__ import annotations

from hashlib import blake2b


def run_id(origin: str, which: str) -> int:
    """The id of a run, from where its log is and which of several runs there it is."""
    return _hash("run", origin, which)


def part_id(run: int, rank: int, generation: int) -> int:
    """The id of what one rank of a run logged. The generation counts how often that was replaced in the log."""
    return _hash("part", str(run), str(rank), str(generation))


def tag_id(name: str, *, scalar: bool) -> int:
    """The id of a tag. Scalars and other values under the same tag are two series."""
    return _hash("scalar" if scalar else "values", name)


def _hash(*words: str) -> int:
    data = "\0".join(words).encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
