"""The tables of all tags, made from the declarations: `python -m pulseboard.instruments.table` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pulseboard.core.metric import Metric
from pulseboard.instruments.registry import all_instruments
from pulseboard.instruments.watch.measurement import all_measurements


def table() -> str:
    """The tags of all instruments in Markdown: by instrument, in the order of its declaration."""
    return _table(["Tag"], [(each.every, [], each.metrics) for each in all_instruments().values()])


def watch_table() -> str:
    """The tags of `pb.watch` in Markdown, with the names that its argument `every` accepts."""
    return _table(["Name", "Tag"], [(each.every, [f"`{id}`"], each.metrics) for id, each in all_measurements().items()])


def _table(first_columns: list[str], groups: Iterable[tuple[int, list[str], Mapping[str, Metric]]]) -> str:
    rows = [[*first_columns, "Unit", "Meaning", "Expected", "Every"]]
    rows.append(["---"] * len(rows[0]))
    for steps, first, metrics in groups:
        every = "step" if steps == 1 else f"{steps} steps"
        rows += [[*first, f"`{tag}`", m.unit, m.meaning, m.expected, every] for tag, m in metrics.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    print(table(), end="\n")
    print(watch_table(), end="")
