"""`pb.plot` and what notebooks show of runs."""

import math

import pytest
from log_directories import write_run

import pulseboard as pb


@pytest.fixture
def log(tmp_path):
    write_run(tmp_path / "a", (0, 2.0), (1, math.nan), (2, 1.0), tag="train/loss")
    write_run(tmp_path / "b", (0, 3.0), (5, 1.5), tag="train/loss")
    write_run(tmp_path / "b", (0, 0.1), tag="lr", name="events.out.tfevents.2")
    return tmp_path


def test_each_run_is_a_curve_with_every_point(log, tmp_path):
    figure = pb.plot(log, tag="loss")
    (axes,) = figure.axes
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert curves["b"] == [[0.0, 3.0], [5.0, 1.5]]
    assert curves["a"][2] == [2.0, 1.0]
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_runs_and_tags_are_selected_and_smoothing_averages(log):
    runs = pb.read(log)
    assert [axes.get_title(loc="left") for axes in pb.plot(runs, runs=["b"]).axes] == ["train/loss", "lr"]
    (axes,) = pb.plot(runs["b"], tag="loss", smoothing=0.5).axes
    smoothed = axes.get_lines()[0].get_ydata().tolist()
    assert smoothed == pytest.approx([3.0, (0.25 * 3.0 + 0.5 * 1.5) / 0.75])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tag": "nothing"}, "No scalar of 2 runs matches 'nothing'"),
        ({"tag": "("}, "Invalid regular expression"),
        ({"runs": ["c"]}, "There are no runs to plot"),
        ({"smoothing": 1.0}, "smoothing must be from 0 to below 1"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_says_why(log, options, says):
    with pytest.raises(pb.PulseboardError, match=says.replace("(", r"\(")):
        pb.plot(log, **options)


def test_a_notebook_shows_runs_and_curves_with_names_escaped(tmp_path):
    write_run(tmp_path / "<b>x", (0, 2.0), (1, math.nan), (2, 1.0), tag="a<b")
    runs = pb.read(tmp_path)
    assert "<td>&lt;b&gt;x</td><td>2</td><td>3</td>" in runs._repr_html_()
    html = runs["<b>x"]._repr_html_()
    assert "<td>a&lt;b</td>" in html
    assert html.count("<polyline") == 2  # the NaN is a gap
    assert "not enough data" in pb.diagnose(runs)._repr_html_()
