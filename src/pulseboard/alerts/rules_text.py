"""alerts.toml as text that a program changes: comments, order and all that is not changed stay as people wrote them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any, Literal

from pulseboard.core.errors import PulseboardError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["destination", "rule"]
Table = Mapping[str, Any]

_HEADER = re.compile(r"^\s*\[")
_KEY = re.compile(r"^\s*([A-Za-z0-9_-]+)\s*=")


class NotEditable(PulseboardError):
    """The file is valid, but written in a way that a program cannot change without losing something."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why} Change it in an editor.")


def with_table(text: str, kind: Kind, index: int | None, table: Table | None) -> str:
    """The text with one table added (`index` is None), changed, or removed (`table` is None). Raises NotEditable."""
    lines = text.splitlines()
    expected = _expected(tomllib.loads(text), kind, index, table)
    if index is None:
        assert table is not None
        changed = [*lines, *([""] if lines else []), f"[[{kind}]]", *(_line(key, table[key]) for key in table)]
    else:
        start, end = _block(lines, kind, index)
        kept = [] if table is None else [lines[start], *_changed_body(lines[start + 1 : end], table)]
        changed = lines[:start] + kept + lines[end:]
        if table is None:
            changed = _without_double_blank(changed, start)
    result = "\n".join(changed).strip("\n") + "\n"
    try:
        same = tomllib.loads(result) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise NotEditable(f"The page cannot change this {kind}: it is written in an unusual way.")
    return result


def _expected(data: dict[str, Any], kind: Kind, index: int | None, table: Table | None) -> dict[str, Any]:
    tables = list(data.get(kind, []))
    if index is None:
        tables.append(dict(table or {}))
    elif table is None:
        del tables[index]
    else:
        tables[index] = dict(table)
    rest = {key: value for key, value in data.items() if key != kind}
    return {**rest, kind: tables} if tables else rest


def _block(lines: list[str], kind: Kind, index: int) -> tuple[int, int]:
    """The lines of a table, from its header to its last key: comments below that belong to what follows."""
    header = re.compile(rf"^\s*\[\[\s*{kind}\s*\]\]")
    starts = [i for i, line in enumerate(lines) if header.match(line)]
    if index >= len(starts):
        raise NotEditable(f"The page can change a {kind} only if it is written as [[{kind}]].")
    start = starts[index]
    end = next((i for i in range(start + 1, len(lines)) if _HEADER.match(lines[i])), len(lines))
    while end > start + 1 and lines[end - 1].strip()[:1] in ("", "#"):
        end -= 1
    return start, end


def _changed_body(lines: list[str], table: Table) -> list[str]:
    """The lines of a table with other values. A comment after a value stays."""
    body: list[str] = []
    left = dict(table)
    i = 0
    while i < len(lines):
        found = _KEY.match(lines[i])
        if found is None:
            body.append(lines[i])
            i += 1
            continue
        key, length = found[1], _length(lines[i:])
        given = lines[i : i + length]
        i += length
        if key in left and tomllib.loads("\n".join(given))[key] == left[key]:
            body += given
        else:
            body += _with_comment(given, _line(key, left[key]) if key in left else "")
        left.pop(key, None)
    return body + [_line(key, left[key]) for key in left]


def _length(lines: list[str]) -> int:
    """How many lines the value takes that begins on the first."""
    for length in range(1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[:length]))
            return length
        except tomllib.TOMLDecodeError:
            continue
    raise NotEditable("The page cannot find the end of a value.")


def _with_comment(given: list[str], line: str) -> list[str]:
    """A new line in place of others, with their comment; an empty line only keeps the comment."""
    if len(given) > 1:
        if any("#" in one for one in given):
            raise NotEditable("The page cannot change a value of several lines that may contain a comment.")
        return [line] if line else []
    comment = _comment(given[0])
    if line and comment:
        return [f"{line}  {comment}"]
    return [line or comment] if line or comment else []


def _comment(line: str) -> str:
    """The comment after the value of a line."""
    whole = tomllib.loads(line)
    for found in re.finditer("#", line):
        try:
            if tomllib.loads(line[: found.start()]) == whole:
                return line[found.start() :]
        except tomllib.TOMLDecodeError:  # the character is in a string
            continue
    return ""


def _line(key: str, value: Any) -> str:
    return f"{key} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _without_double_blank(lines: list[str], at: int) -> list[str]:
    """The lines without one of two empty ones where something was removed."""
    if 0 < at < len(lines) and not lines[at - 1].strip() and not lines[at].strip():
        return lines[:at] + lines[at + 1 :]
    return lines
