"""Tokens: how long the answers about trainings are that a person knows the faults of, and how many of them are right.

Twenty small trainings with a fault, spread evenly over all that are there, are asked about as an agent does: with the
MCP server's `why`. Next to it stand the same trainings in the answer format of W&B's open MCP server. Four bytes count
as a token.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pulseboard.agents.answers import Answers
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.read import any_runs
from zoo import wandb_rules
from zoo.peer_csv import as_csv
from zoo.peers import PEERS
from zoo.scoring.foreign import Truth, truths
from zoo.scoring.table import table

FAULTY, LISTED = 20, 100
# What the answers may take: issue 21.
MOST_FOR_ONE, MOST_FOR_ALL = 600, 2_000
_BYTES = 4

_Chosen = tuple[Truth, Path, Training]


@dataclass(frozen=True)
class Answer:
    """What a tool says about a training."""

    text: str
    right: bool  # whether it names a finding that matches the fault

    @property
    def tokens(self) -> float:
        """Its length."""
        return len(self.text.encode()) / _BYTES


def measured(directory: Path) -> str:
    """Both tables. Raises SystemExit if there are too few trainings."""
    faulty = _spread([one for one in _all_truths(directory) if one.verdict.findings], FAULTY)
    if len(faulty) < FAULTY:
        raise SystemExit(
            f"{FAULTY} faulty trainings are needed, and there are {len(faulty)} in {directory}. Train some: "
            f"python -m zoo small --dir {directory} --only tb_steps"
        )
    chosen = [(one, *_training(directory / "runs" / one.name)) for one in faulty]
    rows = {
        "Pulseboard, `why`": _row(chosen, _ours),
        "W&B's MCP server, `diagnose_run`": _row(chosen, _wandbs),
    }
    listed = _spread(_all_truths(directory), LISTED)
    overview = _overview(directory, listed)
    more = re.search(r"^more: (\d+)$", overview, re.MULTILINE)
    shown = len(listed) - (int(more[1]) if more else 0)
    columns = (
        ("right", ""),
        ("tokens of a right answer, median", f"<= {MOST_FOR_ONE}"),
        ("longest", ""),
        ("tokens of all answers / right answers", ""),
    )
    names = ", ".join(one.name for one in faulty)
    return "\n\n".join(
        [
            table(columns, rows).replace("| state |", f"| about {FAULTY} faulty trainings |", 1),
            f"An overview of {len(listed)} trainings, healthy ones included: {len(overview.encode()) / _BYTES:,.0f} "
            f"tokens (at most {MOST_FOR_ALL:,}), with a line for each of {shown}.",
            f"The trainings: {names}.",
        ]
    )


def _all_truths(directory: Path) -> list[Truth]:
    found = [*truths(directory), *truths(directory, held_out=True)]
    return sorted(found, key=lambda one: one.name)


def _spread(found: list[Truth], count: int) -> list[Truth]:
    """So many of them, at equal distances."""
    if len(found) <= count:
        return found
    return [found[i * len(found) // count] for i in range(count)]


def _training(directory: Path) -> tuple[Path, Training]:
    """The training that the logs in a directory are about; of several, the one with the most points."""
    found = trainings(any_runs(directory))
    return directory, max(found, key=lambda one: sum(run.points for _, run in one.parts))


def _row(chosen: list[_Chosen], ask: Callable[[Truth, Path, Training], Answer]) -> list[str]:
    answers = [ask(*one) for one in chosen]
    right = [answer.tokens for answer in answers if answer.right]
    if not right:
        return [f"0 of {len(answers)}", "-", "-", "-"]
    return [
        f"{len(right)} of {len(answers)}",
        f"{statistics.median(right):.0f}",
        f"{max(right):.0f}",
        f"{sum(answer.tokens for answer in answers) / len(right):.0f}",
    ]


def _ours(truth: Truth, directory: Path, training: Training) -> Answer:
    text = Answers(any_runs(directory)).why(training.name)
    # Of each incident: the first finding in brackets, and a line with the others.
    named = set(re.findall(r"\[([a-z-]+)\]", text))
    for others in re.findall(r"^also: (.*)$", text, re.MULTILINE):
        named |= set(others.split(", "))
    return Answer(text, bool(named & truth.verdict.findings))


def _wandbs(truth: Truth, directory: Path, training: Training) -> Answer:
    log = as_csv(training, case_of(training))
    (peer,) = (one for one in PEERS if one.alarms is wandb_rules.alarms)
    named = {slug for kind in wandb_rules.alarms(log) for slug in peer.means[kind]}
    return Answer(wandb_rules.answer(log, run=training.name), bool(named & truth.verdict.findings))


def _overview(directory: Path, listed: list[Truth]) -> str:
    return Answers(any_runs(*(directory / "runs" / one.name for one in listed))).overview()
