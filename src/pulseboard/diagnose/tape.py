"""Tapes: curves written as one line of text, so that a guide can contain them and a test can play them.

A tape is a sequence of pieces separated by spaces:

    1.4            one point
    1.4x20         twenty points at 1.4; `nan`, `inf` and `-inf` are allowed
    2.0-0.01x60    starts at 2.0 and falls by 0.01 sixty times: 61 points. `+` rises, `*` multiplies
    4.5>1.5x200    200 points from 4.5 towards 1.5, fast at first: 63 % of the way after a fifth of them
    (1x9 5)x20     the pieces in parentheses, twenty times
    @10            from here on a point every 10 steps; the default is every step. May precede a piece
    <50            the next point comes 50 steps back, as after a restart

A piece may end in noise: `~0.02` of that standard deviation, `~5%` of that share of the value. The noise of a tag is
always the same. The first point is at step 0, and a point takes a second.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.histogram import Histogram
from pulseboard.core.series import Series
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.profile import choose_profile, load_profile
from pulseboard.diagnose.roles.resolve import changes_for, read_tracks
from pulseboard.diagnose.track import Track

Floats = NDArray[np.float64]

FIRST_WALL_TIME = 1_700_000_000.0  # 2023-11-14: any fixed time will do

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)"
_PIECE = re.compile(
    rf"(?P<start>{_NUMBER})"
    rf"(?:(?P<how>[-+*>])(?P<by>{_NUMBER}))?"
    r"(?:x(?P<times>\d+))?"
    r"(?:~(?P<noise>[\d.e-]+)(?P<share>%)?)?"
)
_TOKEN = re.compile(r"\s*(?:(?P<open>\()|\)x(?P<again>\d+)|@(?P<stride>\d+)|<(?P<back>\d+)|(?P<piece>[^\s()@<]+))\s*")


class BadTape(ValueError):
    """An invalid tape; the message says which part."""


def tape(text: str, *, tag: str, noise_seed: int = 0) -> Series:
    """The series that a tape describes."""
    # The old generator on purpose: NumPy promises that its numbers never change.
    random = np.random.RandomState(zlib.crc32(tag.encode()) ^ noise_seed)
    values: list[Floats] = []
    steps: list[int] = []
    step, stride = 0, 1
    for kind, token in _unrolled(text):
        if kind == "stride":
            stride = int(token)
        elif kind == "back":
            step = max(0, step - int(token))
        else:
            piece = _played(token, text=text, random=random)
            values.append(piece)
            steps.extend(range(step, step + stride * len(piece), stride))
            step += stride * len(piece)
    count = len(steps)
    return Series(
        tag,
        np.array(steps, np.int64),
        FIRST_WALL_TIME + np.arange(count, dtype=np.float64),
        np.concatenate(values) if values else np.empty(0),
        np.zeros(count, np.bool_),
    )


def case_from_tapes(
    tapes: Mapping[str, str],
    *,
    config: Mapping[str, Any] | None = None,
    ranks: Sequence[Mapping[str, str]] = (),
    histograms: Mapping[str, str] | None = None,
    restarts: Sequence[int] = (),
    silence_secs: float | None = None,
    profile: str | None = None,
) -> Case:
    """The case of a run with these curves, tag -> tape.

    `ranks` are the tapes of ranks 1, 2 and so on; rank 0 has the run's own. Each point of a histogram's tape is the
    share of its values that are exactly 0. With `silence_secs` the run is watched live and has been silent that long.
    """
    series = {tag: tape(text, tag=tag) for tag, text in tapes.items()}
    tracks = {tag: Track.of(one, changes=changes_for(tag)) for tag, one in series.items()}
    others = [
        {tag: Track.of(tape(text, tag=tag, noise_seed=rank), changes=changes_for(tag)) for tag, text in one.items()}
        for rank, one in enumerate(ranks, start=1)
    ]
    last_wall = max((track.last_wall for track in tracks.values()), default=FIRST_WALL_TIME)
    return Case(
        name="tape",
        path="",
        tracks=tracks,
        reading=read_tracks(tracks),
        profile=load_profile(profile) if profile else choose_profile(tracks),
        context=Context.of(config or {}),
        ranks=dict(enumerate([tracks, *others])),
        histograms={tag: _histograms(tape(text, tag=tag)) for tag, text in (histograms or {}).items()},
        restarts=list(restarts),
        overlaps=max((_overlaps(one) for one in series.values()), default=0),
        now=None if silence_secs is None else last_wall + silence_secs,
    )


def case_of_guide(front: Mapping[str, Any], which: str) -> Case:
    """The case that a guide's front matter describes: `which` is "fires" or "quiet".

    Besides the tapes, a guide may give `config`, `ranks`, `histograms`, `restarts`, `silence_secs` and `profile`, for
    both cases or, as `fires_config` and so on, for one of them.
    """
    names = ("config", "ranks", "histograms", "restarts", "silence_secs", "profile")
    given = {name: front.get(f"{which}_{name}", front.get(name)) for name in names}
    return case_from_tapes(front[which], **{name: value for name, value in given.items() if value is not None})


def _unrolled(text: str) -> list[tuple[str, str]]:
    """The tokens of a tape in playing order, with parentheses expanded."""
    stack: list[list[tuple[str, str]]] = [[]]
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or (found["again"] and len(stack) == 1):
            raise BadTape(f"{text[at:]!r} is not valid in the tape {text!r}. See diagnose/tape.py for the pieces.")
        at = found.end()
        if found["open"]:
            stack.append([])
        elif found["again"]:
            repeated = stack.pop() * int(found["again"])
            stack[-1].extend(repeated)
        else:
            kind = next(name for name in ("stride", "back", "piece") if found[name] is not None)
            stack[-1].append((kind, found[kind]))
    if len(stack) > 1:
        raise BadTape(f"Unclosed parenthesis in the tape {text!r}. Close it with )x and a number.")
    return stack[0]


def _played(piece: str, *, text: str, random: np.random.RandomState) -> Floats:
    found = _PIECE.fullmatch(piece)
    if found is None:
        raise BadTape(f"Invalid piece {piece!r} in the tape {text!r}. A piece is like 2.0-0.01x60 or 1.4x20~0.1.")
    start, times = float(found["start"]), int(found["times"] or 1)
    how = found["how"]
    if how is None:
        values = np.full(times, start)
    elif how == ">":
        values = float(found["by"]) + (start - float(found["by"])) * np.exp(-5.0 * np.arange(times) / times)
    elif how == "*":
        values = start * float(found["by"]) ** np.arange(times + 1)
    else:
        values = start + float(how + found["by"].lstrip("+")) * np.arange(times + 1)
    if found["noise"]:
        width = float(found["noise"]) * (np.abs(values) / 100.0 if found["share"] else 1.0)
        values = values + width * random.standard_normal(len(values))
    return values


def _overlaps(series: Series) -> int:
    """The number of points at or before a step that the series already had, other than that of the point before."""
    steps = series.steps
    if len(series) < 2:
        return 0
    return int(((steps[1:] <= np.maximum.accumulate(steps)[:-1]) & (steps[1:] != steps[:-1])).sum())


def _histograms(zeros: Series) -> list[Histogram]:
    """A thousand values each: the zeros in a bucket of width 0, the others around it."""
    edges = np.array([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0])
    around = np.array([0.1, 0.4, 0.0, 0.4, 0.1])
    counts = [1000.0 * ((1.0 - share) * around + share * np.eye(5)[2]) for share in zeros.values]
    return [
        Histogram(step=int(step), wall_time=float(wall), lefts=edges[:-1], rights=edges[1:], counts=count)
        for step, wall, count in zip(zeros.steps, zeros.wall_times, counts, strict=True)
    ]
