"""Checks answered with the values of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.profile import BadProfile, tag_matches
from pulseboard.diagnose.scorecard.check import Check
from pulseboard.diagnose.scorecard.footnotes import measured_note
from pulseboard.diagnose.scorecard.histogram_measures import HISTOGRAM_MEASURES
from pulseboard.diagnose.scorecard.measures import MEASURES, Measured, Subject
from pulseboard.diagnose.scorecard.rows import Answer, Reply
from pulseboard.diagnose.track import Track


def answer(check: Check, case: Case) -> Answer:
    """The answer to one check. If its tag matches several series, the one that is worst off."""
    if not check.tag:
        return _answered(check, Measured("", math.nan), "look yourself", bad=False)
    found = [(one, _says_yes(check, one, case)) for one in _measured(check, case) if not _unknown(check, one)]
    if not found:
        missing = [tag for tag in (check.tag, check.other) if tag and not _is_logged(tag, case)]
        reply: Reply = "not logged" if missing else "not enough data"
        return _answered(check, Measured(missing[0] if missing else check.tag, math.nan), reply, bad=False)
    good = check.wanted == "yes"
    bad = [one for one, yes in found if check.wanted != "either" and yes != good]
    worst = _worst(check, bad or [one for one, _ in found])
    yes = dict(found)[worst]
    if check.wanted == "either" and check.limit is None:
        return _answered(check, worst, "measured", bad=False)
    return _answered(check, worst, "yes" if yes else "no", bad=bool(bad), profile=case.profile.name)


def answers(checks: Iterable[Check], case: Case) -> tuple[Answer, ...]:
    """The answers to several checks."""
    return tuple(answer(check, case) for check in checks)


def _answered(check: Check, measured: Measured, reply: Reply, *, bad: bool, profile: str = "") -> Answer:
    known = reply in ("yes", "no", "measured")
    notes = (*((check.note,) if check.note else ()), *measured_note(profile, check.tag, check.ask))
    return Answer(
        ask=check.ask,
        tag=measured.tag,
        measure=check.measure,
        value=measured.value if known else None,
        limit=check.limit,
        reply=reply,
        bad=bad,
        grade=(check.severity if bad else "ok") if known and check.wanted != "either" else None,
        then=check.then if bad else "",
        section=check.section,
        notes=notes if bad else (),
    )


def _measured(check: Check, case: Case) -> Iterator[Measured]:
    if check.measure in HISTOGRAM_MEASURES:
        for tag, kept in case.histograms.items():
            if len(kept) and tag_matches(check.tag, tag):
                yield Measured(tag, HISTOGRAM_MEASURES[check.measure](kept))
        return
    tracks = _tracks(check.tag, case)
    if tracks:
        subject = Subject(case, check, tracks, _tracks(check.other, case) if check.other else ())
        if check.measure not in MEASURES:
            known = ", ".join(sorted((*MEASURES, *HISTOGRAM_MEASURES)))
            raise BadProfile(f"There is no measure {check.measure!r}. Measures: {known}. Profile {case.profile.name!r}")
        yield from MEASURES[check.measure](subject)


def _is_logged(pattern: str, case: Case) -> bool:
    return bool(_tracks(pattern, case)) or any(tag_matches(pattern, tag) for tag in case.histograms)


def _tracks(pattern: str, case: Case) -> Sequence[Track]:
    """The series of a tag. `{name}/loss` leaves out train/loss, which the profile describes as something else.

    `level{i}_x` includes level0_x, which the profile describes separately with the same role.
    """
    described = next((metric for metric in case.profile.metrics if metric.tag == pattern), None)
    found = []
    for tag, track in case.tracks.items():
        if len(track) and tag_matches(pattern, tag):
            metric = case.profile.metric(tag)
            if described is None or metric is None or metric.role == described.role:
                found.append(track)
    return found


def _unknown(check: Check, measured: Measured) -> bool:
    # A loss that is NaN answers "is it NaN?"; a ratio that cannot be formed answers nothing.
    return math.isnan(measured.value) and check.measure != "latest"


def _says_yes(check: Check, measured: Measured, case: Case) -> bool:
    if not check.outside:
        return check.holds(measured.value)
    metric = case.profile.metric(measured.tag)
    if metric is None:
        return False
    fitted = metric.fitted(choices=case.context.choices, dimension=case.context.dimension)
    bands = [band for band in fitted.bands if band.kind == check.outside]
    return bool(bands) and not any(band.low <= measured.value <= band.high for band in bands)


def _worst(check: Check, found: Sequence[Measured]) -> Measured:
    lowest_is_worst = (check.below is not None) == (check.wanted != "yes")
    return min(found, key=lambda one: one.value) if lowest_is_worst else max(found, key=lambda one: one.value)
