"""ARCHITECTURE.md is true: its table of rooms holds for every import, its paths exist, its limits are kept."""

import ast
import fnmatch
import re
import subprocess
import sys
from collections import Counter
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
    """The items that a cell lists; the empty set for 'none' and 'nothing'."""
    return set() if cell in ("none", "nothing") else {word.strip(" `") for word in cell.split(",")}


def described():
    return tables((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def rooms():
    return {row["Room"]: row for row in described()["Rooms"]}


# ---- the imports


def imports_of(source, *, module="pulseboard.room.file"):
    """Every module that Python source imports, inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from pulseboard import read` imports a room, `from pulseboard.core import errors` part of one.
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
        pytest.skip("another test reports folders that are missing from the table")
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


def test_paths_that_the_page_names_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"`((?:\w[\w.-]*/)+[\w.-]*)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    )
    added = set(re.findall(r"[Aa]dd `([^`]+)`", text))
    assert len(named) > 30
    assert [name for name in sorted(named - added) if not ((ROOT / name).exists() or (PACKAGE / name).exists())] == []


# ---- cycles


def module_of(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_at_load(source, *, modules):
    """The modules of the package that a module imports while it loads: not in functions, not for type checkers."""

    def statements(body):
        for node in body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from statements(node.orelse)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            else:
                for part in ("body", "orelse", "finalbody"):
                    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield from statements(getattr(node, part, []))
                yield from (inner for handler in getattr(node, "handlers", []) for inner in statements(handler.body))

    for node in statements(ast.parse(source).body):
        for alias in node.names:
            name = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            # `from a.b import c`: c is a module, or a name in a.b.
            yield from [name] if name in modules else [name.rpartition(".")[0]]


def cycles(graph):
    """The nodes on a cycle of a graph (node -> nodes), or between two: what is left after removing all loose ends."""
    left = {node: set(targets) - {node} for node, targets in graph.items()}
    while True:
        reached = set().union(*left.values()) if left else set()
        loose = [node for node, targets in left.items() if not targets & left.keys() or node not in reached]
        if not loose:
            return sorted(left)
        for node in loose:
            del left[node]


def test_no_module_imports_itself_through_others():
    paths = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    graph = {
        module: set(imported_at_load(path.read_text(encoding="utf-8"), modules=paths)) for module, path in paths.items()
    }
    assert sum(len(targets) for targets in graph.values()) > 500
    assert cycles(graph) == []


def test_no_room_imports_itself_through_others():
    assert cycles({room: words(row["May import"]) for room, row in rooms().items()}) == []


# ---- sizes

MAX_LINES = 400
MAX_FILES = 20
TEXT = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".ts", ".js", ".svelte", ".css", ".html", ".md", ".toml", ".yml"}


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return [name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def is_exempt(name):
    return any(fnmatch.fnmatch(name, row["Path"]) for row in described()["Exceptions to the size limits"])


def test_no_file_is_longer_than_the_limit():
    lines = {
        name: len((ROOT / name).read_text(encoding="utf-8").splitlines())
        for name in tracked_files()
        if Path(name).suffix in TEXT and not is_exempt(name)
    }
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_no_folder_has_more_files_than_the_limit():
    counts = Counter(str(Path(name).parent) for name in tracked_files() if not is_exempt(name))
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_every_exception_is_needed():
    names = tracked_files()
    for row in described()["Exceptions to the size limits"]:
        assert fnmatch.filter(names, row["Path"]), row["Path"]


# ---- the checks themselves: what they find, and what they leave alone


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


def test_a_cycle_is_found_without_what_leads_to_it():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "b"}, "e": set()}) == ["b", "c"]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": {"elsewhere"}}) == []


def test_imports_in_functions_and_for_type_checkers_do_not_count_as_loaded():
    source = """
import a
try:
    from b import c
except ImportError:
    import d
if TYPE_CHECKING:
    import e
def f():
    import g
class H:
    import i
"""
    assert list(imported_at_load(source, modules={"a", "b.c", "d", "e", "g", "i"})) == ["a", "b.c", "d", "i"]
