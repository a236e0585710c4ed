"""`pulseboard tail`: the latest rows, and with -f those that come."""

import json
import subprocess
import sys

from log_directories import append, write_run


def test_the_last_rows_are_printed_by_step(pulseboard, tmp_path):
    write_run(tmp_path, *((step, step / 3) for step in range(20)))
    assert pulseboard("tail", tmp_path, "-n", "2").out == "step 18  loss 6\nstep 19  loss 6.333\n"
    assert pulseboard("tail", tmp_path, "-n", "0").out == ""
    assert len(pulseboard("tail", tmp_path).out.splitlines()) == 10


def test_values_of_one_step_share_a_line_and_a_rare_tag_shows_only_in_the_last_rows(pulseboard, tmp_path):
    write_run(tmp_path, *((step, 1.0) for step in range(20)))
    write_run(tmp_path, (0, 5.0), (19, 2.0), tag="val/loss", name="events.out.tfevents.2")
    assert pulseboard("tail", tmp_path, "-n", "2").out == "step 18  loss 1\nstep 19  loss 1  val/loss 2\n"


def test_tags_beyond_eight_are_counted_and_chosen_with_a_pattern(pulseboard, tmp_path):
    for i in range(10):
        write_run(tmp_path, (0, 1.0), tag=f"m{i}", name=f"events.out.tfevents.{i}")
    assert "… and 2 more tags; choose with -t REGEX." in pulseboard("tail", tmp_path).out
    assert pulseboard("tail", tmp_path, "-t", "m[89]").out == "step 0  m8 1  m9 1\n"


def test_json_has_rows_of_each_run(pulseboard, tmp_path):
    write_run(tmp_path / "a", (3, float("nan")))
    (run,) = json.loads(pulseboard("tail", tmp_path, "--json").out)["runs"]
    assert (run["run"], run["rows"]) == ("a", [{"step": 3, "wall_time": 103.0, "values": {"loss": "nan"}}])


def test_follow_prints_what_is_logged_later(tmp_path):
    path = write_run(tmp_path / "a", (0, 1.0))
    command = [sys.executable, "-m", "pulseboard", "tail", str(tmp_path), "-f", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        first = json.loads(process.stdout.readline())
        append(path, (1, 0.5))
        second = json.loads(process.stdout.readline())
        process.terminate()
    assert (first["step"], second["step"], second["values"]) == (0, 1, {"loss": 0.5})
