"""Expressions over tags: the grammar, and values compared with NumPy on the logged points."""

import time

import numpy as np
import pytest
from series_files import write_series

import pulseboard as pb
from pulseboard import SummaryWriter
from pulseboard.charts.derived.expression import BadExpression, Expression, Leaf
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import GroupQuery, Query

X = np.array([1.0, 2.0, 4.0])
Y = np.array([3.0, 5.0, 9.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", X),
        ("x + y * 2", X + Y * 2),
        ("(x + y) * 2", (X + Y) * 2),
        ("y - x - 1", Y - X - 1),
        ("-x ^ 2", -(X**2)),
        ("2 ^ 3 ^ x", 2 ** (3**X)),
        ("y / x", Y / X),
        ("exp(x) - log(y)", np.exp(X) - np.log(Y)),
        ("max(x, 2)", np.maximum(X, 2)),
        ("cumsum(x)", np.cumsum(X)),
        ("1e-3*x", 1e-3 * X),
        ("sqrt(abs(-x))", np.sqrt(X)),
        ("\"x\" + 'y'", X + Y),
    ],
)
def test_the_grammar(text, expected):
    values = {Leaf("x"): X, Leaf("y"): Y}
    np.testing.assert_allclose(Expression(text).evaluate(values), expected)


def test_a_slash_and_a_minus_without_spaces_belong_to_the_tag():
    assert Expression("val/loss - train/loss").leaves == (Leaf("val/loss"), Leaf("train/loss"))
    assert Expression("lr-group-0 / a").leaves == (Leaf("lr-group-0"), Leaf("a"))
    assert Expression('"a tag (odd)" * 2').leaves == (Leaf("a tag (odd)"),)
    assert Expression('loss - run("base line", val/loss)').leaves == (Leaf("loss"), Leaf("val/loss", "base line"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a tag"),
        ("x +", "Expected a tag"),
        ("x y", "Expected an operator"),
        ("(x", "Expected ')'"),
        ("sin(x)", "Unknown function 'sin'"),
        ("ema(x)", "ema takes 2 arguments"),
        ("1 + 2", "has no tag"),
        ("x ; y", "Unexpected ';'"),
        ("run(x, y)", "name of a run in quotes"),
        ("(" * 200 + "x" + ")" * 200, "too many parentheses"),
        ("__import__('os')", "Unknown function"),
    ],
)
def test_a_wrong_expression_says_what_is_wrong(text, message):
    with pytest.raises(BadExpression, match=message.replace("(", r"\(").replace(")", r"\)")):
        Expression(text)


@pytest.fixture
def charts(tmp_path):
    """Two runs; validation is logged at every fifth step, and the second run is one higher."""
    for name, offset in (("a", 0.0), ("b", 1.0)):
        with SummaryWriter(tmp_path / name) as writer:
            for step in range(101):
                writer.add_scalar("train/loss", 10.0 - step / 20 + offset, step, 1000.0 + step)
                if step % 5 == 0:
                    writer.add_scalar("val/loss", 11.0 - step / 20 + offset, step, 1000.5 + step)
    return LocalCharts(pb.read(tmp_path))


def windows(charts, expression, **options):
    found = charts.window(Query(runs=["a", "b"], tags=[f"={expression}"], **options))
    return {window.run: window for window in found}


def test_tags_are_combined_at_the_steps_of_the_sparser_one(charts):
    found = windows(charts, "val/loss - train/loss")
    assert found["a"].columns["x"].tolist() == list(range(0, 101, 5))
    np.testing.assert_allclose(found["a"].columns["y"], 1.0, atol=1e-6)
    wall = windows(charts, "val/loss - train/loss", x="wall")["a"]
    assert wall.columns["x"][0] == 1000.5


def test_ema_is_tensorboards_smoothing(charts):
    last, expected = 0.0, []
    for i, value in enumerate(windows(charts, "train/loss")["a"].columns["y"].tolist()):
        last = last * 0.9 + 0.1 * value
        expected.append(last / (1 - 0.9 ** (i + 1)))
    np.testing.assert_allclose(windows(charts, "ema(train/loss, 0.9)")["a"].columns["y"], expected)


def test_another_run_is_a_baseline(charts):
    found = windows(charts, 'train/loss - run("a", train/loss)')
    np.testing.assert_allclose(found["a"].columns["y"], 0.0)
    np.testing.assert_allclose(found["b"].columns["y"], 1.0, rtol=1e-5)  # logged as float32


def test_a_run_without_one_of_the_tags_has_no_curve(charts):
    assert windows(charts, "train/loss + unknown") == {}
    assert windows(charts, 'train/loss - run("unknown", train/loss)') == {}


def test_an_expression_is_reduced_and_grouped_like_a_tag(charts):
    (group,) = charts.groups(GroupQuery(runs=["a", "b"], tags=["=2 * train/loss"]))
    assert group.columns["mean"][0] == pytest.approx(21.0)
    window = windows(charts, "2 * train/loss", buckets=10)["a"]
    assert not window.exact
    assert (window.columns["min"].min(), window.columns["max"].max()) == (10.0, 20.0)


def test_an_expression_follows_a_run_that_grows(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("x", 1.0, 0)
        writer.flush()
        charts = LocalCharts(pb.read(tmp_path))
        query = Query(runs=["a"], tags=["=x * 10"])
        assert charts.window(query)[0].columns["y"].tolist() == [10.0]
        writer.add_scalar("x", 2.0, 1)
        writer.flush()
        charts.refresh()
        assert charts.window(query)[0].columns["y"].tolist() == [10.0, 20.0]


def test_an_expression_costs_at_most_twice_a_plain_chart(tmp_path):
    for number in range(100):
        for file, tag in enumerate("ab"):
            values = (np.arange(2000) % 7 + number).astype(np.float32)
            write_series(tmp_path / f"run{number:03d}/events.out.tfevents.{file}", range(2000), values, tag=tag)

    charts = LocalCharts(pb.read(tmp_path, arrays=True))
    charts.refresh()

    def processor_secs(tag, buckets):
        started = time.process_time()
        assert len(charts.window(Query(list(charts.runs), [tag], buckets=buckets))) == 100
        return time.process_time() - started

    # In turn, so that whatever else the machine does slows down both.
    pairs = [(processor_secs("=a - b", buckets), processor_secs("a", buckets)) for buckets in range(400, 421)]
    assert np.median([ours / plain for ours, plain in pairs]) <= 2
