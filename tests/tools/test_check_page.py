"""tools/check_page.py runs the page's scripts, names those that fail, and skips those that do not exist."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """The tool for a page with the scripts lint, check and format, with npm replaced by a list of its calls."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    spec = importlib.util.spec_from_file_location("check_page", ROOT / "tools" / "check_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.calls, module.failing = [], set()

    def run_npm(*words, **options):
        module.calls.append(words)
        return SimpleNamespace(returncode=int(words[-1] in module.failing))

    monkeypatch.setattr(module, "run_npm", run_npm)
    monkeypatch.setattr(module, "WEB", tmp_path)
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"lint": "x", "check": "x", "format": "x"}}))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/.package-lock.json").touch()
    return module


def test_all_checks_run_and_pass(tool):
    assert tool.main([]) == 0
    assert tool.calls == [("run", "--silent", "lint"), ("run", "--silent", "check")]


def test_a_failing_check_is_named_and_the_next_one_still_runs(tool, capsys):
    tool.failing.add("lint")
    assert tool.main([]) == 1
    assert len(tool.calls) == 2
    assert "npm run lint failed" in capsys.readouterr().err


def test_fixing_runs_the_formatter_only(tool):
    assert tool.main(["--fix"]) == 0
    assert tool.calls == [("run", "--silent", "format")]


def test_missing_packages_are_installed_first_also_after_an_interrupted_installation(tool, tmp_path):
    (tmp_path / "node_modules/.package-lock.json").unlink()
    tool.main([])
    assert tool.calls[0][0] == "ci"


def test_a_missing_script_is_skipped_with_a_message(tool, tmp_path, capsys):
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"check": "x"}}))
    tool.main([])
    assert "no script 'lint'" in capsys.readouterr().err
    assert tool.calls == [("run", "--silent", "check")]


def test_without_npm_the_check_fails_and_says_why(tool, monkeypatch, capsys):
    def missing(*words, **options):
        raise FileNotFoundError("npm")

    monkeypatch.setattr(tool, "run_npm", missing)
    assert tool.main([]) == 1
    assert "npm is missing" in capsys.readouterr().err
