"""`pulseboard compare`: two runs, value by value."""

import json

import numpy as np
import pytest

import pulseboard as pb


@pytest.fixture
def two(tmp_path):
    noise = np.random.default_rng(0)
    for name, floor, rate in (("base", 0.5, 0.1), ("new", 0.4, 0.2)):
        with pb.init(dir=tmp_path, run_id=name, config={"lr": rate, "seed": 1}, telemetry_secs=0, strict=True) as run:
            for step in range(200):
                loss = floor + 2 * float(np.exp(-step / 80)) + 0.01 * noise.normal()
                run.log({"train/loss": loss, "train/lr": rate, f"only/{name}": 1.0}, step=step)
            run.log({"val/accuracy": floor}, step=200)
    return tmp_path


def test_values_differences_and_config_are_those_of_the_runs(pulseboard, two):
    document = json.loads(pulseboard("compare", two / "base", two / "new", "--json").out)
    tags = {tag["tag"]: tag for tag in document["tags"]}
    base, new = (pb.read(two)[name].series("train/loss").values for name in ("base", "new"))
    loss = tags["train/loss"]
    assert (loss["a"]["last"], loss["b"]["last"]) == (base[-1], new[-1])
    assert (loss["a"]["best"], loss["a"]["best_step"]) == (base.min(), base.argmin())
    assert loss["last_difference"] == new[-1] - base[-1]
    assert loss["winner"] == "b"
    assert tags["val/accuracy"]["winner"] == "a"  # higher is better
    assert tags["train/lr"]["winner"] is None  # neither better nor worse
    assert tags["only/base"]["b"] is None
    assert document["config"] == [{"setting": "lr", "a": 0.1, "b": 0.2}]


def test_the_order_of_the_arguments_says_which_is_a(pulseboard, two):
    def names(*args):
        document = json.loads(pulseboard("compare", *args, "--json").out)
        return document["a"]["run"].split("/")[0], document["b"]["run"].split("/")[0]

    assert names(two / "base", two / "new") == ("base", "new")
    assert names(two / "new", two / "base") == ("new", "base")
    assert names(two, "-r", "new", "-r", "base") == ("new", "base")


def test_the_text_has_both_verdicts_the_table_and_the_settings(pulseboard, two):
    out = pulseboard("compare", two, "-r", "base", "-r", "new", "-t", "loss|only").out
    assert "A  base  healthy" in out
    assert "train/loss" in out
    assert "Only in A: only/base" in out
    assert "val/accuracy" not in out
    assert [line.split() for line in out.splitlines() if line.startswith("lr ")] == [["lr", "0.1", "0.2"]]


def test_brief_has_one_line_per_tag(pulseboard, two):
    lines = pulseboard("compare", two, "-r", "base", "-r", "new", "--brief").out.splitlines()
    assert lines[0] == "a base: healthy"
    assert any(line.startswith("train/loss last a=") and line.endswith("better: b") for line in lines)
    assert lines[-1] == "config: lr: a=0.1 b=0.2"


@pytest.mark.parametrize("args", [["-r", "base"], []])
def test_another_number_of_runs_than_two_is_an_error_that_names_them(pulseboard, two, args):
    with pb.init(dir=two, run_id="third", telemetry_secs=0, strict=True) as run:
        run.log({"train/loss": 1.0}, step=0)
    ran = pulseboard("compare", two, *args)
    assert ran.code == 2
    assert ran.err.startswith(f"pulseboard: Comparing takes two runs, but {1 if args else 3} are selected (")
