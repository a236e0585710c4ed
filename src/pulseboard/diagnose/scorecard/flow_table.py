"""The decision flow and the patterns of a document, answered for a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulseboard.core.finding import Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.scorecard.answers import answers
from pulseboard.diagnose.scorecard.rows import FlowRow, PatternRow, Reply


def flow_rows(case: Case) -> Iterator[FlowRow]:
    """Every branch with its checks answered, whether the run needs it or not."""
    for step in case.profile.flow:
        because = answers(step.when, case)
        known = [one for one in because if one.reply in ("yes", "no")]
        applies: Reply = because[0].reply if because else "look yourself"
        if known:
            applies = "yes" if any(one.bad for one in known) else "no"
        yield FlowRow(step.question, applies, because, answers(step.checks, case), step.action)


def pattern_rows(case: Case, findings: Iterable[Finding]) -> Iterator[PatternRow]:
    """Every pattern. It matches if all its signs are there, or if a finding of its kind needs action."""
    # Healthy runs have infos too: a loss that levels out at the end is not one that does not fall.
    found = {finding.slug: finding for finding in findings if finding.severity != "info"}
    for pattern in case.profile.patterns:
        signs = answers(pattern.signs, case)
        because = [f"{one.slug}: {one.summary}" for slug in pattern.when if (one := found.get(slug)) is not None]
        if signs and all(sign.bad for sign in signs):
            because += [_said(sign.tag, sign.ask, sign.value) for sign in signs]
        yield PatternRow(
            pattern.name, bool(because), tuple(because), pattern.why or pattern.cause, pattern.check, pattern.fix
        )


def _said(tag: str, ask: str, value: float | None) -> str:
    return f"{tag}: {ask.rstrip('?')} ({number(value) if value is not None else 'no value'})"
