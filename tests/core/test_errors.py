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


def test_an_unknown_run_suggests_similar_names():
    error = RunNotFound("basline", known=["baseline", "other", "baseline-2"])
    assert str(error) == "No run named 'basline'. Nearest: 'baseline', 'baseline-2'."
    assert (error.name, error.known) == ("basline", ("baseline", "other", "baseline-2"))


def test_a_name_like_no_other_lists_some_names():
    error = RunNotFound("zzz", known=[f"run{i}" for i in range(9)])
    assert str(error) == "No run named 'zzz'. Known runs: 'run0', 'run1', 'run2', 'run3', 'run4', …."


def test_a_log_without_runs_says_so():
    assert str(RunNotFound("x", known=[])) == "No run named 'x'. There are no runs."


def test_an_unknown_tag_names_its_run_and_kind():
    error = TagNotFound("los", run="exp", kind="scalar", known=["loss"])
    assert str(error) == "Run 'exp' has no scalar tag 'los'. Nearest: 'loss'."
    assert (error.tag, error.run, error.kind) == ("los", "exp", "scalar")


def test_the_path_comes_last_so_that_the_rest_can_be_shared():
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
def test_errors_subclass_the_builtin_error_a_caller_may_catch(error, kind):
    assert isinstance(error, kind)
    assert isinstance(error, PulseboardError)
    assert not str(error).startswith(("'", '"'))  # as KeyError would have it
