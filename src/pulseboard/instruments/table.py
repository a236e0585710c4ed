"""The table of all tags, from the declarations: `python -m pulseboard.instruments.table` prints it."""

from __future__ import annotations

from pulseboard.instruments.declare import all_instruments


def table() -> str:
    """A Markdown table, by instrument and in the order in which each declares its tags."""
    lines = ["| Tag | Unit | Meaning | Expected | Every |", "| --- | --- | --- | --- | --- |"]
    for instrument in all_instruments().values():
        every = "step" if instrument.every == 1 else f"{instrument.every} steps"
        lines += [
            f"| `{tag}` | {metric.unit} | {metric.meaning} | {metric.expected} | {every} |"
            for tag, metric in instrument.metrics.items()
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
