"""`pulseboard show`: the tags of runs, each with its range and a sparkline."""

import json

from builders import event_file, scalar, summary, version
from log_directories import write_run


def test_show_prints_tags_kinds_ranges_and_sparklines(pulseboard, runs, golden, readable):
    ran = pulseboard("show", runs)
    assert ran.code == 0
    golden(readable(ran.out), "show.txt")


def test_show_json_has_full_details(pulseboard, runs, golden, readable):
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


def test_show_of_one_tag_omits_the_others(pulseboard, runs):
    out = pulseboard("show", runs, "-r", "baseline", "-t", "^train/").out
    assert "train/loss" in out
    assert "validation/loss" not in out
    assert "weights" not in out


def test_a_pattern_without_matches_is_reported(pulseboard, runs):
    ran = pulseboard("show", runs, "-t", "nothing[xyz]")
    assert (ran.code, ran.out) == (0, "No tag matches 'nothing[xyz]'.\n")


def test_orphaned_points_are_drawn_on_request(pulseboard, runs):
    assert "10 points" in pulseboard("show", runs, "-r", "resumed", "--chart").out
    assert "14 points" in pulseboard("show", runs, "-r", "resumed", "--chart", "--orphans").out


def test_runs_beyond_the_limit_are_counted_and_can_be_selected(pulseboard, tmp_path):
    for i in range(13):
        write_run(tmp_path / f"run{i:02}", (0, 1.0))
    out = pulseboard("show", tmp_path).out
    assert "… and 3 more runs. Choose with --run NAME" in out
    assert out.count("started") == 10
    assert pulseboard("show", tmp_path, "-r", "run").out.count("started") == 13


def test_an_empty_directory_is_reported(pulseboard, tmp_path):
    ran = pulseboard("show", tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("No runs found")


def test_a_run_without_data_says_so(pulseboard, runs):
    assert "nothing logged yet" in pulseboard("show", runs, "-r", "empty").out


def test_tags_are_printed_literally(pulseboard, tmp_path):
    tags = ["loss[train]", "[/x]", "a:smile:b", "100%", "{x}"]
    (tmp_path / "x.tfevents").write_bytes(event_file(version(), summary(*(scalar(tag, 1.0) for tag in tags))))
    for options in ([], ["--chart"]):
        out = pulseboard("show", tmp_path, *options).out
        for tag in tags:
            assert tag in out


def test_extreme_values_and_steps_print_no_warnings(pulseboard, tmp_path):
    steps = [-(2**63), 0, 2**63 - 1]
    events = [summary(scalar("edge", value), step=step) for step in steps for value in (3e38, -3e38, float("nan"))]
    (tmp_path / "x.tfevents").write_bytes(event_file(version(), *events))
    for options in ([], ["--chart"], ["--json"]):
        ran = pulseboard("show", tmp_path, *options)
        assert (ran.code, ran.err) == (0, "")


def test_show_says_how_a_log_was_read(pulseboard, tmp_path):
    (tmp_path / "train.log").write_text("".join(f"epoch {e} batch {b} loss {e}.5\n" for e in (0, 1) for b in (0, 1)))
    ran = pulseboard("show", tmp_path)
    assert "Read as text: numbers are named by the words before them. Steps are epoch x 2 + batch." in ran.out
    (tmp_path / "train.log").unlink()
    (tmp_path / "log.csv").write_text("step,loss\n0,1\n1,2\n")
    assert "Read as" not in pulseboard("show", tmp_path).out
