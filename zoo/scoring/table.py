"""Tables of a document that gain a row with every state of the diagnosis."""

from collections.abc import Sequence

Columns = Sequence[tuple[str, str]]  # (name, target)


def table(columns: Columns, rows: dict[str, list[str]]) -> str:
    """States of the diagnosis by name, oldest first, in Markdown; the targets are the last row."""
    lines = ["| state | " + " | ".join(name for name, _ in columns) + " |", "| --- |" + " --- |" * len(columns)]
    lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]
    lines.append("| target | " + " | ".join(target for _, target in columns) + " |")
    return "\n".join(lines)


def rows_in(columns: Columns, text: str) -> dict[str, list[str]]:
    """The rows of a table that was written before."""
    found = {}
    for line in text.splitlines():
        name, *cells = (cell.strip() for cell in line.strip("| ").split(" | "))
        if line.startswith("| ") and name not in ("state", "---", "target") and len(cells) == len(columns):
            found[name] = cells
    return found
