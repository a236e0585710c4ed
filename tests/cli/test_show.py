"""`pulseboard show`: the tags of runs, each with its range and a sparkline."""

import json

from builders import event_file, scalar, summary, version
from log_directories import write_run


def test_show_prints_tags_kinds_ranges_and_sparklines(pulseboard, runs, golden, readable):
    ran = pulseboard("show", runs)
    assert ran.code == 0
    golden(readable(ran.out), "show.txt")


def test_show_json_has_the_same_in_full(pulseboard, runs, golden, readable):
    ran = pulseboard("show", runs, "--json", "-r", "baseline", "-r", "resumed", "-r", "damaged")
    assert (ran.code, ran.err) == (0, "")
    golden(readable(ran.out), "show.json")
    document = json.loads(ran.out, parse_constant=lambda word: 1 / 0)
    assert document["schema"] == 1
    loss = next(
        tag for run in document["runs"] if run["run"] == "resumed" for tag in run["tags"] if tag["tag"] == "loss"
    )
    assert loss["kind"] == "scalar"
    assert (loss["count"], loss["orphaned_count"]) == (10, 4)
    assert (loss["min"], loss["max"], loss["last"]) == (3.5, 10.0, 3.5)
    assert set(loss) >= {"first_step", "last_step", "first_wall", "last_wall", "nan_count", "inf_count", "sparkline"}


def test_show_draws_charts(pulseboard, runs, golden, readable):
    ran = pulseboard("show", runs, "-r", "baseline", "-t", "loss", "--chart")
    assert ran.code == 0
    golden(readable(ran.out), "show_chart.txt")


def test_show_of_one_tag_leaves_out_the_others(pulseboard, runs):
    out = pulseboard("show", runs, "-r", "baseline", "-t", "^train/").out
    assert "train/loss" in out
    assert "validation/loss" not in out
    assert "weights" not in out


def test_a_tag_that_nothing_matches_is_said_so(pulseboard, runs):
    ran = pulseboard("show", runs, "-t", "nothing[xyz]")
    assert (ran.code, ran.out) == (0, "No tag matches 'nothing[xyz]'.\n")


def test_orphaned_points_are_drawn_when_asked_for(pulseboard, runs):
    assert "10 points" in pulseboard("show", runs, "-r", "resumed", "--chart").out
    assert "14 points" in pulseboard("show", runs, "-r", "resumed", "--chart", "--orphans").out


def test_more_runs_than_a_screen_holds_are_told_and_can_be_chosen(pulseboard, tmp_path):
    for i in range(13):
        write_run(tmp_path / f"run{i:02}", (0, 1.0))
    out = pulseboard("show", tmp_path).out
    assert "… and 3 more runs: choose with --run NAME" in out
    assert out.count("started") == 10
    assert pulseboard("show", tmp_path, "-r", "run").out.count("started") == 13


def test_an_empty_directory_is_said_to_be_empty(pulseboard, tmp_path):
    ran = pulseboard("show", tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("No runs: ")


def test_a_run_without_data_says_so(pulseboard, runs):
    assert "nothing logged yet" in pulseboard("show", runs, "-r", "empty").out


def test_tags_are_printed_as_they_are(pulseboard, tmp_path):
    tags = ["loss[train]", "[/x]", "a:smile:b", "100%", "{x}"]
    (tmp_path / "x.tfevents").write_bytes(event_file(version(), summary(*(scalar(tag, 1.0) for tag in tags))))
    for options in ([], ["--chart"]):
        out = pulseboard("show", tmp_path, *options).out
        for tag in tags:
            assert tag in out


def test_values_and_steps_at_the_edges_are_printed_without_a_word_on_standard_error(pulseboard, tmp_path):
    steps = [-(2**63), 0, 2**63 - 1]
    events = [summary(scalar("edge", value), step=step) for step in steps for value in (3e38, -3e38, float("nan"))]
    (tmp_path / "x.tfevents").write_bytes(event_file(version(), *events))
    for options in ([], ["--chart"], ["--json"]):
        ran = pulseboard("show", tmp_path, *options)
        assert (ran.code, ran.err) == (0, "")
