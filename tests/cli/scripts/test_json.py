"""docs/reference/json.md is true: every field that a command prints is on the page, with its type, and vice versa."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pulseboard as pb

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
SPELLED = ("nan", "inf", "-inf")


def documented():
    """Command -> field -> type."""
    found, command = {}, ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            command = line[3:]
        elif row := re.match(r"\| (`.+?`) \| ([\w?]+) \| .+ \|$", line):
            for field in re.findall(r"`([^`]+)`", row[1]):
                found.setdefault(command, {})[field] = row[2]
    return found


def is_of(value, kind):
    if kind.endswith("?") and value is None:
        return True
    return {
        "string": lambda: isinstance(value, str),
        "integer": lambda: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda: isinstance(value, int | float) or value in SPELLED,
        "boolean": lambda: isinstance(value, bool),
        "map": lambda: isinstance(value, dict),
        "any": lambda: True,
    }[kind.removesuffix("?")]()


def check(value, fields, path, seen):
    """Fail on a field that the page does not have, or of another type."""
    if path in fields:
        seen.add(path)
        assert is_of(value, fields[path]), f"{path} is {value!r}, and the page says {fields[path]}"
    elif isinstance(value, dict):
        assert not path or any(name.startswith(f"{path}.") for name in fields), f"{path} is not on the page"
        for key, item in value.items():
            check(item, fields, f"{path}.{key}".lstrip("."), seen)
    elif isinstance(value, list):
        assert any(name.startswith(f"{path}[]") for name in fields), f"{path}[] is not on the page"
        if not value:  # nothing to see of the items
            seen.update(name for name in fields if name.startswith(f"{path}[]"))
        for item in value:
            check(item, fields, f"{path}[]", seen)
    else:
        assert value is None, f"{path} is not on the page"
        assert any(name.startswith(path) for name in fields), f"{path} is not on the page"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two recorded runs, one of which ends in NaN."""
    root = tmp_path_factory.mktemp("json") / "runs"
    noise = np.random.default_rng(0)
    for name, rate in (("good", 0.1), ("good-2", 0.1), ("bad", 10.0)):
        with pb.init(dir=root, run_id=name, config={"lr": rate}, telemetry_secs=0, strict=True) as run:
            for step in range(300):
                loss = 0.5 + 2 * float(np.exp(-step / 40)) + 0.02 * noise.normal()
                run.log({"train/loss": float("nan") if name == "bad" and step > 200 else loss}, step=step)
            run.histogram("weights", np.ones(10))
    (root / "other").mkdir()
    (root / "other" / "history.csv").write_text("step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(20)))
    return root


ARGUMENTS = {
    "ls": [[]],
    "show": [[]],
    "du": [[]],
    "diagnose": [[], ["-r", "bad"]],
    "compare": [["-r", "good", "-r", "bad"]],
    "tail": [["-n", "3"]],
    "wait": [["-r", "good"], ["-r", "good", "--until", "step=9999"]],
    "gate": [["-r", "bad", "--against", "{log}/good"], ["-r", "good", "--against", "{log}/good-2"]],
    "explain": [["loss-nan"]],
    "guide": [["-r", "good", "--profile", "gpt"]],
    "export": [["-o", "{tmp}/all.csv"], ["-f", "tensorboard", "-o", "{tmp}/tb"]],
    "import": [["{tmp}/imported"]],
    "archive": [["--to", "{tmp}/archive"]],
    "doctor": [[]],
}
# These need a database: tests/database/test_commands.py compares them with the page.
OF_DATABASES = {"push", "db check", "db prune", "db audit"}


def test_every_command_with_json_is_on_the_page():
    assert documented().keys() == ARGUMENTS.keys() | OF_DATABASES


@pytest.mark.parametrize("command", ARGUMENTS)
def test_the_page_has_the_fields_of_the_command(pulseboard, log, tmp_path, command):
    fields, seen = documented()[command], set()
    for given in ARGUMENTS[command]:
        where = [] if command in ("explain", "doctor") else [log]
        ran = pulseboard(command, *where, *(one.format(tmp=tmp_path, log=log) for one in given), "--json")
        assert ran.code in (0, 1), ran.err
        check(json.loads(ran.out), fields, "", seen)
    assert {field for field in fields if not fields[field].endswith("?")} - seen == set(), "on the page only"


def test_a_field_that_is_not_on_the_page_is_seen():
    with pytest.raises(AssertionError, match=r"runs\[\].new is not on the page"):
        check({"runs": [{"new": 1}]}, {"runs[].run": "string"}, "", set())
    with pytest.raises(AssertionError, match="the page says string"):
        check({"runs": [{"run": 1}]}, {"runs[].run": "string"}, "", set())
