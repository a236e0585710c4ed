"""Errors say what happened, offer what is near, and carry their values as fields."""

import pytest

from pulseboard.core.errors import (
    LogNotFound,
    MissingPackage,
    NameTaken,
    PulseboardError,
    RunNotFound,
    TagNotFound,
)


def test_a_run_that_is_not_there_is_answered_with_near_names():
    error = RunNotFound("basline", known=["baseline", "other", "baseline-2"])
    assert str(error) == "There is no run 'basline'. Nearest: 'baseline', 'baseline-2'."
    assert (error.name, error.known) == ("basline", ("baseline", "other", "baseline-2"))


def test_a_name_near_nothing_is_answered_with_some_names():
    error = RunNotFound("zzz", known=[f"run{i}" for i in range(9)])
    assert str(error) == "There is no run 'zzz'. Known runs: 'run0', 'run1', 'run2', 'run3', 'run4', …."


def test_a_log_without_runs_says_so():
    assert str(RunNotFound("x", known=[])) == "There is no run 'x'. It has no runs at all."


def test_a_tag_that_is_not_there_names_its_run_and_kind():
    error = TagNotFound("los", run="exp", kind="scalar", known=["loss"])
    assert str(error) == "Run 'exp' has no scalar tag 'los'. Nearest: 'loss'."
    assert (error.tag, error.run, error.kind) == ("los", "exp", "scalar")


def test_a_missing_path_comes_last_so_that_the_rest_can_be_shared():
    error = LogNotFound("/secret/place")
    assert str(error).endswith(" /secret/place")
    assert error.path == "/secret/place"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RunNotFound("x", known=[]), KeyError),
        (TagNotFound("x", run="r", kind="scalar", known=[]), KeyError),
        (MissingPackage("to_pandas()", package="pandas", extra="pandas"), ImportError),
        (NameTaken("x", paths=("/a", "/b")), ValueError),
    ],
)
def test_errors_are_of_the_kind_a_caller_may_already_catch(error, kind):
    assert isinstance(error, kind)
    assert isinstance(error, PulseboardError)
    assert not str(error).startswith(("'", '"'))  # as KeyError would have it
