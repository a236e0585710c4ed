"""`pulseboard doctor` reports what works, and what to do about what does not."""

import importlib
import json

import pytest

from pulseboard.cli import installation

# `pulseboard.serve` and `pulseboard.read` are also the names of functions.
page = importlib.import_module("pulseboard.serve.http.page")
file_events = importlib.import_module("pulseboard.read.file_events")


@pytest.fixture(autouse=True)
def own_directories(tmp_path, monkeypatch):
    # Seven tests need not each wait for the system's events.
    monkeypatch.setattr(file_events, "secs_until_reported", lambda *_, **__: 0.1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))


def test_the_system_reports_a_change_or_none_in_time(tmp_path, monkeypatch):
    monkeypatch.undo()
    secs = file_events.secs_until_reported(tmp_path, timeout_secs=5)
    assert secs is None or 0 < secs < 60
    assert list(tmp_path.iterdir())


def results():
    return {one.check: one for one in installation.examine()}


def test_the_report_covers_every_part_and_ends_with_a_verdict(pulseboard):
    ran = pulseboard("doctor")
    for part in ("pulseboard", "python", "kernel", "packages", "page", "file events", "port", "GPU", "cache directory"):
        assert f" {part} " in ran.out, part
    assert ran.out.rstrip().endswith(("Everything that is needed works.", "checks failed."))


def test_the_json_report_has_the_same_checks(pulseboard):
    report = json.loads(pulseboard("doctor", "--json").out)
    assert {one["check"] for one in report["checks"]} >= {"kernel", "page", "file events"}
    assert {one["state"] for one in report["checks"]} <= {"fine", "optional", "broken"}


def test_a_missing_page_is_an_error_with_advice(pulseboard, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE_DIRECTORY", tmp_path)
    ran = pulseboard("doctor")
    assert ran.code == 1
    assert "✗ page" in ran.out
    assert "make page" in ran.out


def test_a_kernel_module_that_cannot_be_loaded_is_an_error_with_advice(monkeypatch):
    def refuse(name):
        raise ImportError("undefined symbol")

    monkeypatch.setattr(installation.importlib, "import_module", refuse)
    found = results()["kernel"]
    assert (found.state, found.found) == ("broken", "cannot be loaded: undefined symbol")
    assert "make native" in found.advice


def test_an_extra_without_its_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(
        installation, "_metadata", lambda: ["numpy>=1", 'nothing-like-this>=1; extra == "nothing"', 'x; extra == "dev"']
    )
    found = results()
    assert found["extra nothing"].advice == 'pip install "pulseboard[nothing]"'
    assert "extra dev" not in found
    assert found["packages"].found.startswith("numpy ")


def test_a_missing_requirement_is_an_error(monkeypatch):
    monkeypatch.setattr(installation, "_metadata", lambda: ["nothing-like-this>=1"])
    assert results()["packages"].state == "broken"


def test_without_file_events_runs_are_polled(monkeypatch):
    monkeypatch.setattr(file_events, "secs_until_reported", lambda *_, **__: None)
    found = results()["file events"]
    assert found.state == "optional"
    assert "polled" in found.advice


def test_a_check_that_fails_does_not_stop_the_others(monkeypatch):
    def _page():
        raise RuntimeError("odd")

    monkeypatch.setattr(installation, "_CHECKS", (_page, installation._version))
    assert [one.state for one in installation.examine()] == ["broken", "fine", "fine"]
