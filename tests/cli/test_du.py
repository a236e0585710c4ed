"""`pulseboard du`: where the disk space goes."""

import json

from log_directories import write_run


def test_du_prints_the_largest_runs_first_with_their_kinds(pulseboard, runs, golden, readable):
    ran = pulseboard("du", runs)
    assert ran.code == 0
    golden(readable(ran.out), "du.txt")


def test_du_json_adds_up_to_the_bytes_on_disk(pulseboard, runs, golden, readable):
    ran = pulseboard("du", runs, "--json")
    assert (ran.code, ran.err) == (0, "")
    golden(readable(ran.out), "du.json")
    document = json.loads(ran.out)
    on_disk = sum(path.stat().st_size for path in runs.rglob("*tfevents*"))
    assert document["size_bytes"] == sum(run["size_bytes"] for run in document["runs"]) == on_disk
    assert sum(document["kinds"].values()) == on_disk
    for run in document["runs"]:
        assert sum(run["kinds"].values()) == run["size_bytes"]
    assert [run["size_bytes"] for run in document["runs"]] == sorted(
        (run["size_bytes"] for run in document["runs"]), reverse=True
    )


def test_du_of_one_run_has_no_total(pulseboard, runs):
    out = pulseboard("du", runs, "-r", "baseline").out
    assert "baseline" in out
    assert "\nall " not in out
    assert "\nall " in pulseboard("du", runs).out


def test_files_of_other_ranks_count_with_their_run(pulseboard, tmp_path):
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "run.json").write_text("{}")
    for name in ("logs/tensorboard", "ranks/1", "ranks/2"):
        write_run(tmp_path / "exp" / name)
    (run,) = json.loads(pulseboard("du", tmp_path, "--json").out)["runs"]
    assert run["size_bytes"] == sum(path.stat().st_size for path in tmp_path.rglob("*tfevents*"))
    assert sum(run["kinds"].values()) == run["size_bytes"]


def test_an_empty_directory_is_reported(pulseboard, tmp_path):
    assert pulseboard("du", tmp_path).out == "No runs found.\n"
