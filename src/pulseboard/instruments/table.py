"""The tables of all tags, from the declarations: `python -m pulseboard.instruments.table` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pulseboard.instruments.declare import Metric, all_instruments
from pulseboard.instruments.watched import WATCHED


def table() -> str:
    """The typed instruments' tags, by instrument and in the order in which each declares them, in Markdown."""
    return _table(["Tag"], [(one.every, [], one.metrics) for one in all_instruments().values()])


def watched_table() -> str:
    """The tags of `pb.watch`, with the names by which `every` knows them."""
    return _table(["Name", "Tag"], [(one.every, [f"`{id}`"], one.metrics) for id, one in WATCHED.items()])


def _table(head: list[str], groups: Iterable[tuple[int, list[str], Mapping[str, Metric]]]) -> str:
    rows = [[*head, "Unit", "Meaning", "Expected", "Every"]]
    rows.append(["---"] * len(rows[0]))
    for steps, first, metrics in groups:
        every = "step" if steps == 1 else f"{steps} steps"
        rows += [[*first, f"`{tag}`", m.unit, m.meaning, m.expected, every] for tag, m in metrics.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    print(table(), end="\n")
    print(watched_table(), end="")
