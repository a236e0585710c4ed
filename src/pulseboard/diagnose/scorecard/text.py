"""A scorecard as lines of text, for the terminal and for `str`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.report.sentences import SIGNS, status_label
from pulseboard.diagnose.report.text import Line, Piece, run_title
from pulseboard.diagnose.scorecard.rows import Answer, FlowRow, Grade, PatternRow, StageCell
from pulseboard.diagnose.scorecard.scorecard import Scorecard

WIDTH = 110
_STYLES: dict[Grade, str] = {None: "dim", "ok": "ok", "info": "info", "warning": "warning", "critical": "critical"}
_MOST_MISSING = 12


def as_text(cards: Iterable[Scorecard], *, width: int = WIDTH) -> str:
    """Scorecards as plain text."""
    lines = (line for card in cards for line in lines_of(card, width=width))
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines) + "\n"


def lines_of(card: Scorecard, *, width: int = WIDTH) -> Iterator[Line]:
    """One scorecard line by line: metrics, stages, checks, flow, patterns, intervals, footnotes."""
    notes = _Footnotes()
    yield from _head(card)
    yield from _metrics(card, notes, width=width)
    yield from _stages(card, notes, width=width)
    yield from _checks(card, notes, width=width)
    yield from _flow(card, width=width)
    yield from _patterns(card, width=width)
    yield from _cadence(card)
    yield from notes.lines(width=width)
    yield ()


class _Footnotes:
    """Footnotes by number, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, notes: Sequence[str]) -> str:
        """Such as `[1][3]`."""
        return "".join(f" [{self._numbers.setdefault(note, len(self._numbers) + 1)}]" for note in notes)

    def lines(self, *, width: int) -> Iterator[Line]:
        if self._numbers:
            yield _title("Footnotes")
        for note, n in self._numbers.items():
            yield from _wrapped(note[:1].upper() + note[1:], first=f"  [{n}] ", width=width)


def _head(card: Scorecard) -> Iterator[Line]:
    steps = "no points" if card.steps is None else f"steps {card.steps[0]:,} to {card.steps[1]:,}"
    done = "length unknown" if card.progress is None else f"{percent(card.progress)} done"
    yield (
        Piece(f"{SIGNS[card.status]} {run_title(card.run, card.path)}", card.status),
        Piece(f"  {status_label(card.status)}  ", card.status),
        Piece(f"{steps} · {done} · guide {card.profile}: {card.title}", "dim"),
    )
    yield (Piece("  The guide's limits count as written. For calibrated findings: pulseboard diagnose", "dim"),)


def _metrics(card: Scorecard, notes: _Footnotes, *, width: int) -> Iterator[Line]:
    yield _title("Metrics: value now, what the guide expects, its verdict")
    rows: list[tuple[str, str, str, str, Grade]] = [
        (
            row.tag,
            _number(row.value, row.unit),
            row.verdict + notes.mark(row.notes),
            "; ".join([*row.limits, *([f"at this stage {row.stage}"] if row.stage else [])]) or row.expected,
            row.grade,
        )
        for row in card.metrics
    ]
    widths = [max((len(column) for column in columns), default=0) for columns in list(zip(*rows, strict=True))[:3]]
    signs = [row.signs for row in card.metrics]
    for (tag, value, verdict, limits, grade), said in zip(rows, signs, strict=True):
        indent = 2 + sum(widths) + 6
        head = (
            Piece(f"  {tag:<{widths[0]}}  {value:>{widths[1]}}  "),
            Piece(f"{verdict:<{widths[2]}}  ", _STYLES[grade]),
        )
        texts = textwrap.wrap(limits, max(24, width - indent)) or [""]
        yield (*head, Piece(texts[0], "dim"))
        yield from ((Piece(" " * indent + text, "dim"),) for text in texts[1:])
        for sign in said:
            yield from _wrapped(sign, first=" " * 6, width=width, style=_STYLES[grade])
    if card.missing:
        shown = ", ".join(card.missing[:_MOST_MISSING])
        more = f" and {len(card.missing) - _MOST_MISSING} more" if len(card.missing) > _MOST_MISSING else ""
        yield from _wrapped(f"Not logged: {shown}{more}", first="  ", width=width, style="dim")


def _stages(card: Scorecard, notes: _Footnotes, *, width: int) -> Iterator[Line]:
    if not card.stages:
        return
    yield _title("Ranges by stage: this run, and the guide's range in brackets")
    size = max(len(row.tag) for row in card.stages)
    for row in card.stages:
        line: list[Piece] = [Piece(f"  {row.tag:<{size}}")]
        used = size + 2
        for cell in row.cells:
            text, style = _cell(cell)
            if used + 2 + len(text) > width and used > size + 2:
                yield tuple(line)
                line, used = [Piece(" " * (size + 2))], size + 2
            line.append(Piece(f"  {text}", style))
            used += 2 + len(text)
        yield (*line, Piece(notes.mark(row.notes), "dim"))


def _cell(cell: StageCell) -> tuple[str, str]:
    sign = {"inside": "✓", "below": "↓", "above": "↑", "other model": "≠"}.get(cell.verdict, "·")
    value = number(cell.value) if cell.value is not None else cell.verdict
    style = {"inside": "ok", "below": "info", "above": "info"}.get(cell.verdict, "dim")
    return f"{cell.when}: {sign} {value} [{cell.document}]", style


def _checks(card: Scorecard, notes: _Footnotes, *, width: int) -> Iterator[Line]:
    if card.checks:
        yield _title("Checks: the guide's questions, answered")
    for one in card.checks:
        yield from _answer(one, notes.mark(one.notes), width=width)


def _answer(one: Answer, mark: str = "", *, indent: int = 2, width: int) -> Iterator[Line]:
    value = f" ({number(one.value)})" if one.value is not None else ""
    style = _STYLES[one.grade] if one.bad else "ok" if one.reply in ("yes", "no") else "dim"
    sign = "!" if one.bad else "·"
    tag = f"{one.tag}: " if one.tag else ""
    texts = textwrap.wrap(f"{tag}{one.ask}", width - indent - 4) or [""]
    for text in texts[:-1]:
        yield (Piece(f"{' ' * indent}{sign} {text}"),)
        sign = " "
    yield (Piece(f"{' ' * indent}{sign} {texts[-1]} "), Piece(f"{one.reply}{value}{mark}", style))
    if one.then:
        yield from _wrapped(one.then, first=" " * (indent + 4), width=width, style=style)


def _flow(card: Scorecard, *, width: int) -> Iterator[Line]:
    if card.flow:
        yield _title("Where to look: the guide's flowchart")
    for row in sorted(card.flow, key=lambda row: row.applies != "yes"):
        yield from _branch(row, width=width)


def _branch(row: FlowRow, *, width: int) -> Iterator[Line]:
    style = {"yes": "warning", "no": "ok"}.get(row.applies, "dim")
    why = "; ".join(_measured(one) for one in row.because if one.value is not None)
    yield (Piece(f"  {row.question}: "), Piece(row.applies + (f" ({why})" if why else ""), style))
    for one in row.checks:
        yield from _answer(one, indent=4, width=width)
    action = "Do" if row.applies == "yes" else "If so"
    yield from _wrapped(f"{action}: {row.action}", first="    → ", width=width, style=style)


def _measured(one: Answer) -> str:
    what = one.tag if one.measure == "latest" else f"{one.measure} of {one.tag}"
    return f"{what}: {number(one.value)}" if one.value is not None else what


def _patterns(card: Scorecard, *, width: int) -> Iterator[Line]:
    if not card.patterns:
        return
    yield _title("Patterns")
    matching = [row for row in card.patterns if row.matches]
    for row in matching:
        yield from _pattern(row, width=width)
    others = ", ".join(row.name for row in card.patterns if not row.matches)
    if others:
        yield from _wrapped(f"Not seen: {others}", first="  ", width=width, style="dim")


def _pattern(row: PatternRow, *, width: int) -> Iterator[Line]:
    yield (Piece(f"  {row.name}", "warning"),)
    for reason in row.because:
        yield from _wrapped(reason, first="    Seen in  ", width=width)
    yield from _wrapped(row.cause, first="    Cause    ", width=width)
    for check in row.check:
        yield from _wrapped(check, first="    Check    ", width=width)
    for fix in row.fix:
        yield from _wrapped(fix, first="    Fix      ", width=width)


def _cadence(card: Scorecard) -> Iterator[Line]:
    if not card.cadence:
        return
    yield _title("How often things are logged")
    names = max(len(row.category) for row in card.cadence)
    asked = max(len(row.asked) for row in card.cadence)
    for row in card.cadence:
        steps = row.every_steps
        every = "" if steps is None else "every step" if steps == 1 else f"every {number(steps)} steps"
        style = "warning" if row.verdict == "less often" else "dim" if row.verdict == "not logged" else "ok"
        yield (
            Piece(f"  {row.category:<{names}}  asked: every {row.asked:<{asked}}  "),
            Piece(f"{row.verdict}{f': {every}' if every else ''}", style),
            Piece(f"  {row.note}" if row.note else "", "dim"),
        )


def _title(text: str) -> Line:
    return (Piece(f"\n{text}", "title"),)


def _wrapped(text: str, *, first: str, width: int, style: str = "") -> Iterator[Line]:
    lines = textwrap.wrap(text, max(24, width - len(first))) or [""]
    yield (Piece(first + lines[0], style),)
    yield from ((Piece(" " * len(first) + line, style),) for line in lines[1:])


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    text = "NaN" if math.isnan(value) else number(value)
    return f"{text} {unit}" if unit else text
