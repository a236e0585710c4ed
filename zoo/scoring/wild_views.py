"""Wild views: published runs as their authors might have logged them.

A rule that fits one log by its number of points, its digits or its noise fails here. A healthy run is healthy in every
view, so an alarm on it is wrong; a problem remains one unless the view hides it.
"""

import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from pulseboard.core.errors import PulseboardError
from pulseboard.core.series import Series
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.roles.words import words_of
from pulseboard.read.runs import read
from zoo.scoring.figures import found, is_right
from zoo.scoring.headlines import Headline, headlines
from zoo.scoring.matching import Case
from zoo.scoring.seen_run import Points, select
from zoo.scoring.table import table

COLUMNS = (
    ("healthy flagged", "<= 2 %"),
    ("alarms right", ">= 90 %"),
    ("problems found, high", ""),
    ("problems found, medium", ""),
)
FEWEST = 8  # points that a thinned series keeps
_NOISE = 0.3  # of the noise that is there


def thinned(n: int, first: int = 0) -> Points:
    """Every n-th point from the first on, and the last one."""

    def view(series: Series) -> Series:
        if len(series) < n * FEWEST:
            return series
        kept = np.union1d(np.arange(first, len(series), n), [len(series) - 1])
        return select(series, kept)

    return view


def first_share(share: float) -> Points:
    """The first part of every series: the run while it runs, or one that was stopped."""

    def view(series: Series) -> Series:
        if not len(series):
            return series
        start, end = int(series.steps.min()), int(series.steps.max())
        return select(series, np.flatnonzero(series.steps <= start + share * (end - start)))

    return view


def rounded(digits: int) -> Points:
    """Values with so many significant digits, as prints have them."""

    def view(series: Series) -> Series:
        values = np.array([float(f"{value:.{digits}g}") for value in series.values])
        return _with(series, values)

    return view


def noisier(series: Series) -> Series:
    """A little more of the noise that a curve has anyway, as with another seed. Counters and clocks have none."""
    values = series.values
    moves = np.diff(values[np.isfinite(values)])
    if len(moves) < FEWEST or (moves >= 0).all() or "lr" in series.tag.lower() or "rate" in series.tag.lower():
        return series
    rng = np.random.default_rng(zlib.crc32(series.tag.encode()))
    changed = values + _NOISE * float(np.median(np.abs(moves))) * rng.standard_normal(len(values))
    keeps_sign = np.sign(changed) == np.sign(values)
    within_one = (values > 1) | (changed <= 1)
    return _with(series, np.where(keeps_sign & within_one, changed, values))


def only(split: str) -> Points:
    """Only metrics of one split, and those that name none."""
    other = {"validation": "train", "train": "validation"}[split]
    return lambda series: None if words_of(series.tag).split == other else series


def only_losses(series: Series) -> Series | None:
    """No scores, rates, norms and times."""
    return series if "loss" in series.tag.lower() else None


def no_rate(series: Series) -> Series | None:
    """No learning rate."""
    words = series.tag.lower().replace("-", "_").replace("/", "_").split("_")
    return None if {"lr", "learning"} & set(words) or "learningrate" in series.tag.lower() else series


def later_steps(series: Series) -> Series:
    """Steps in batches instead of epochs."""
    return Series(series.tag, series.steps * 391, series.wall_times, series.values, series.orphaned)


def without_first(series: Series) -> Series:
    """The first point was not logged."""
    return select(series, np.arange(1, len(series))) if len(series) > FEWEST else series


def _with(series: Series, values: np.ndarray) -> Series:
    return Series(series.tag, series.steps, series.wall_times, values, series.orphaned)


VIEWS: dict[str, Points] = {
    "as they are": lambda series: series,
    "every 2nd point": thinned(2),
    "every 3rd point from the 2nd on": thinned(3, 1),
    "the first 80 %": first_share(0.8),
    "the first 60 %": first_share(0.6),
    "the first 40 %": first_share(0.4),
    "three digits": rounded(3),
    "a little more noise": noisier,
    "without the first point": without_first,
    "steps of 391": later_steps,
    "without validation": only("train"),
    "without training": only("validation"),
    "only losses": only_losses,
    "without learning rates": no_rate,
}
# Views that may leave out what the problem shows in.
CUTS = frozenset({"the first 80 %", "the first 60 %", "the first 40 %"})


def seen(cases: list[Case], folders: dict[str, Path], *, jobs: int = 2) -> dict[str, dict[str, list[Headline]]]:
    """The headlines of every run that has a verdict, by view and run."""
    wanted = {case.runs[0].id for case in cases if case.runs and case.verdict and case.verdict.kind != "unscored"}
    results: dict[str, dict[str, list[Headline]]] = {name: {} for name in VIEWS}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(_folder, name, path, wanted) for name, path in folders.items()]
        for task in as_completed(tasks):
            for view, run, lines in task.result():
                results[view][run] = lines
    return results


def summary(cases: list[Case], results: dict[str, dict[str, list[Headline]]], *, details: bool) -> str:
    """A row for each view, and with `details` the alarms on healthy runs."""
    rows, lines = {}, []
    for view, by_run in results.items():
        views = [(case, by_run[case.runs[0].id]) for case in cases if case.runs and case.runs[0].id in by_run]
        healthy, flagged, right, alarms = 0, 0, 0, 0
        hits: dict[str, list[bool]] = {"high": [], "medium": [], "low": []}
        for case, said in views:
            verdict = case.verdict
            assert verdict is not None
            loud = [line for line in said if line.alarms]
            alarms += len(loud)
            right += sum(is_right(line, verdict) for line in loud)
            if verdict.kind == "healthy":
                healthy += 1
                flagged += bool(loud)
                lines += [f"{view:<32} {line.severity:<8} {line.slug:<22} {case.id}  {line.text}" for line in loud]
            elif verdict.kind == "problem":
                hit = any(is_right(line, verdict) for line in loud)
                hits[verdict.confidence].append(hit)
                if found(case) and not hit and view not in CUTS:
                    lines.append(f"{view:<32} lost     {case.alarms[0].slug:<22} {case.id}")
                for line in loud:
                    if not is_right(line, verdict):
                        lines.append(f"{view:<32} other    {line.slug:<22} {case.id}  [{verdict.label}] {line.text}")
        rows[view] = [_share(flagged, healthy), _share(right, alarms)] + [
            _share(sum(hits[level]), len(hits[level])) for level in ("high", "medium")
        ]
    body = table(COLUMNS, rows).replace("| state |", "| logged as |", 1)
    return body if not details else body + "\n\n" + "\n".join(sorted(lines))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"


def _folder(name: str, path: Path, wanted: set[str]) -> list[tuple[str, str, list[Headline]]]:
    try:
        chosen = [one for one in trainings(read(path)) if f"{name}/{one.name}" in wanted]
    except PulseboardError as error:
        print(f"no views of {name}: {error}", file=sys.stderr)
        return []
    return [
        (view, f"{name}/{one.name}", headlines(report_on(case_of(one, view=points))))
        for one in chosen
        for view, points in VIEWS.items()
    ]
