"""The table of rooms in ARCHITECTURE.md is true of every import in the tree."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pulseboard"


# ---- the table


def tables(text):
    """Heading -> rows of the table below it, each a dict by column."""
    found, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("|"):
            found.setdefault(heading, []).append(
                [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
            )
    return {
        heading: [dict(zip(columns, row, strict=True)) for row in rows]
        for heading, (columns, _, *rows) in found.items()
    }


def words(cell):
    """What a cell lists; nothing for 'none' and 'nothing'."""
    return set() if cell in ("none", "nothing") else {word.strip(" `") for word in cell.split(",")}


def described():
    return tables((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def rooms():
    return {row["Room"]: row for row in described()["Rooms"]}


# ---- the imports


def imports_of(source, *, module="pulseboard.room.file"):
    """Every module that Python source imports, wherever in it: in functions and for type checkers too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from pulseboard import read` imports a room, `from pulseboard.core import errors` a part of one.
            yield from (f"{base}.{alias.name}" for alias in node.names) if base == "pulseboard" else [base]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


def imports_of_file(path):
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pyx":
        return set(re.findall(r"^\s*(?:from|cimport|import)\s+([\w.]+)", text, re.MULTILINE)) - {"cpython", "libc"}
    return set(imports_of(text, module=module.removesuffix(".__init__") + (".x" if path.stem == "__init__" else "")))


def files_of(room):
    return [path for suffix in ("py", "pyi", "pyx") for path in sorted((PACKAGE / room).rglob(f"*.{suffix}"))]


def breaches(imported, *, room, may_import, third_parties):
    """The imports that the room's row does not allow."""
    for name in sorted(imported):
        top, *rest = name.split(".")
        if top == "pulseboard":
            allowed = may_import == {"any"} or (rest and rest[0] in may_import | {room})
        else:
            allowed = top in sys.stdlib_module_names or top in third_parties or top in ("cpython", "libc")
        if not allowed:
            yield name


# ---- the tests


def test_every_folder_of_the_package_is_a_room_in_the_table():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))}
    assert folders == set(rooms())


def test_every_room_to_come_has_not_come_yet():
    to_come = {row["Room"] for row in described().get("Rooms to come", [])}
    assert to_come & set(rooms()) == set()
    assert [room for room in to_come if (PACKAGE / room).is_dir()] == []


def test_rooms_import_only_rooms_that_are_in_the_table():
    for room, row in rooms().items():
        assert words(row["May import"]) - {"any"} <= set(rooms()), room


def test_every_room_says_what_it_holds():
    for room, row in rooms().items():
        assert len(row["What it holds"]) > 10, room
        assert ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))), room


@pytest.mark.parametrize("room", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
def test_a_room_imports_only_what_its_row_allows(room):
    row = rooms().get(room)
    if row is None:
        pytest.skip("the test above tells of folders that are no rooms")
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in files_of(room)
        if (
            wrong := list(
                breaches(
                    imports_of_file(path),
                    room=room,
                    may_import=words(row["May import"]),
                    third_parties=words(row["Third parties"]),
                )
            )
        )
    }
    assert found == {}


def test_record_and_read_never_meet():
    for room, other in (("record", "read"), ("read", "record")):
        for path in files_of(room):
            assert [name for name in imports_of_file(path) if f"{name}.".startswith(f"pulseboard.{other}.")] == [], path


# ---- the test's own eyes, on both sides


@pytest.mark.parametrize(
    "source",
    [
        "import pulseboard.record",
        "import pulseboard.record.writer as w",
        "from pulseboard.record import writer",
        "from pulseboard import record",
        "def f():\n    from pulseboard.record.writer import x",
        "if TYPE_CHECKING:\n    import pulseboard.record",
        "from ..record import writer",
        "import importlib\nimportlib.import_module('pulseboard.record')",
        "import torch",
        "import pulseboard",
    ],
)
def test_an_import_that_is_not_allowed_is_seen(source):
    found = breaches(set(imports_of(source)), room="room", may_import={"core"}, third_parties={"numpy"})
    assert len(list(found)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import os, sys",
        "import numpy as np",
        "from numpy.typing import NDArray",
        "from pulseboard.core import errors",
        "from pulseboard import core",
        "from pulseboard.room import other",
        "from . import other",
        "from .other import x",
        "from ..core.errors import x",
        "'import torch'",
    ],
)
def test_an_import_that_is_allowed_is_left_alone(source):
    found = breaches(set(imports_of(source)), room="room", may_import={"core"}, third_parties={"numpy"})
    assert list(found) == []
