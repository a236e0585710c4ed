"""The version is written in one place: src/pulseboard/__init__.py."""

import json
import re
import sys
from pathlib import Path

import pulseboard as pb

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]


def test_the_package_metadata_takes_the_version_from_the_package():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in config["project"]
    assert config["project"]["dynamic"] == ["version"]
    assert config["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "pulseboard.__version__"}


def test_the_package_writes_it_once():
    text = (ROOT / "src" / "pulseboard" / "__init__.py").read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE) == [pb.__version__]


def test_the_page_has_no_version_of_its_own():
    package = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    assert package["private"] is True
    assert ["version" in part for part in (package, lock, lock["packages"][""])] == [False, False, False]


def test_the_newest_entry_of_the_changelog_is_this_version():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1].rstrip(",") == pb.__version__
