"""`pulseboard archive`: finished runs move, compressed and proved whole, and still open."""

import gzip
import json
import os
import subprocess
import time
from pathlib import Path

from builders import event_file, scalars, version
from log_directories import all_of, values, write_run

import pulseboard as pb
from pulseboard.rundir import archive


def tree(root):
    """Every file below a directory with its bytes."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def series_of(log):
    """Every series of every run, by the last parts of the run's name."""
    return {
        (name, tag): (series.steps.tobytes(), series.wall_times.tobytes(), series.values.tobytes())
        for name, run in log.items()
        for tag in run.tags("scalar")
        for series in [run.series(tag, orphans=True)]
    }


# ---- the plan


def test_without_yes_the_plan_is_printed_and_nothing_is_touched(pulseboard, runs, tmp_path, golden, readable):
    before = tree(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive")
    assert ran.code == 0
    golden(readable(ran.out), "archive.txt")
    assert tree(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_the_plan_as_json_names_every_file_and_where_it_goes(pulseboard, runs, tmp_path, golden, readable):
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--json", "-r", "sweep", "-r", "resumed")
    assert (ran.code, ran.err) == (0, "")
    golden(readable(ran.out), "archive.json")
    plan = json.loads(ran.out)
    assert plan["dry_run"] is True
    assert plan["archived"] == plan["failed"] == plan["left_out"] == []
    assert {move["run"] for move in plan["planned"]} == {"resumed", "sweep/lr=0.1", "sweep/lr=0.01"}
    assert not (tmp_path / "archive").exists()


def test_having_nothing_to_archive_is_reported(pulseboard, tmp_path):
    (tmp_path / "runs").mkdir()
    assert pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive").out == "Nothing to archive.\n"


def test_a_run_without_event_files_is_nothing_to_archive(pulseboard, tmp_path):
    (tmp_path / "events.out.tfevents.1.profile-empty").write_bytes(b"")
    ran = pulseboard("archive", tmp_path, "--to", tmp_path.parent / "archive")
    assert (ran.code, ran.out) == (0, "Nothing to archive.\n")


# ---- the deed


def test_with_yes_runs_move_and_open_from_the_archive_with_identical_series(pulseboard, runs, tmp_path):
    before = pb.read(runs)
    want, names = series_of(before), set(before)
    orphaned = before["resumed"].series("loss", orphans=True).orphaned.tolist()
    histograms = [h.counts.tolist() for h in before["baseline"].histograms("weights")]
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes")
    assert ran.code == 0
    assert ran.out.startswith("Archived 7 files to ")
    after = pb.read(tmp_path / "archive" / "runs")
    assert set(after) == names
    assert series_of(after) == want
    assert after["resumed"].series("loss", orphans=True).orphaned.tolist() == orphaned
    assert [h.counts.tolist() for h in after["baseline"].histograms("weights")] == histograms
    assert after["baseline"].texts("notes")[0].text == "first try"
    assert list(runs.rglob("*tfevents*")) == []
    assert all(path.name.endswith(".gz") for path in (tmp_path / "archive").rglob("*tfevents*"))


def test_json_has_sizes_before_and_after(pulseboard, runs, tmp_path):
    size = (runs / "baseline" / "events.out.tfevents.1700000000.host").stat().st_size
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "--json", "-r", "baseline")
    done = json.loads(ran.out)
    assert done["dry_run"] is False
    (one,) = done["archived"]
    assert one["size_before"] == size
    assert one["size_after"] == os.path.getsize(one["target"]) < size


def test_an_archived_file_is_plain_gzip_with_the_time_of_the_original(pulseboard, tmp_path):
    path = write_run(tmp_path / "runs" / "exp", *((i, 1.0) for i in range(100)))
    os.utime(path, (1.6e9, 1.6e9))
    data = path.read_bytes()
    pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--yes")
    packed = tmp_path / "archive" / "runs" / "exp" / (path.name + ".gz")
    assert packed.stat().st_mtime == 1.6e9
    assert subprocess.run(["gunzip", "--stdout", packed], check=True, capture_output=True).stdout == data


def test_only_selected_runs_are_moved(pulseboard, runs, tmp_path):
    pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "sweep/lr=0.1")
    assert set(pb.read(runs)) == {"baseline", "resumed", "damaged", "empty", "sweep/lr=0.01"}
    assert set(pb.read(tmp_path / "archive")) == {"runs/sweep/lr=0.1"}


def test_several_paths_keep_their_names_apart(pulseboard, tmp_path):
    for who in ("ada", "bob"):
        os.utime(write_run(tmp_path / who / "runs" / "exp", (0, float(len(who)))), (1e9, 1e9))
    os.utime(write_run(tmp_path / "bob" / "runs" / "exp", (0, 9.0)), (1e9, 1e9))
    ran = pulseboard("archive", tmp_path / "ada/runs", tmp_path / "bob/runs", "--to", tmp_path / "archive", "--yes")
    assert ran.code == 0
    found = pb.read(tmp_path / "archive")
    assert sorted(values(run) for run in found.values()) == [[3.0], [9.0]]


def test_damaged_files_are_kept_as_they_are(pulseboard, runs, tmp_path):
    want = next((runs / "damaged").iterdir()).read_bytes()
    pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "damaged")
    (packed,) = (tmp_path / "archive" / "runs" / "damaged").iterdir()
    assert gzip.decompress(packed.read_bytes()) == want


def test_side_files_move_and_checkpoints_stay(pulseboard, tmp_path):
    exp = tmp_path / "runs" / "exp"
    os.utime(write_run(exp / "logs" / "tensorboard", (0, 1.0)), (1e9, 1e9))
    for name in ("run.json", "training.json", "findings.json"):
        (exp / name).write_text("{}")
        os.utime(exp / name, (1e9, 1e9))
    (exp / "checkpoints").mkdir()
    (exp / "checkpoints" / "last.pt").write_bytes(b"weights")
    (exp / "notes.txt").write_text("mine")
    assert pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--yes").code == 0
    assert set(tree(tmp_path / "runs")) == {"exp/checkpoints/last.pt", "exp/notes.txt"}
    assert set(tree(tmp_path / "archive")) == {
        "runs/exp/run.json",
        "runs/exp/training.json",
        "runs/exp/findings.json",
        "runs/exp/logs/tensorboard/events.out.tfevents.1.gz",
    }
    assert list(pb.read(tmp_path / "archive" / "runs")) == ["exp"]


def test_files_of_other_ranks_move_with_their_run(pulseboard, tmp_path):
    exp = tmp_path / "runs" / "exp"
    (exp / "logs" / "tensorboard").mkdir(parents=True)
    (exp / "run.json").write_text("{}")
    os.utime(exp / "run.json", (1e9, 1e9))
    os.utime(write_run(exp / "logs" / "tensorboard", (0, 1.0)), (1e9, 1e9))
    os.utime(write_run(exp / "ranks" / "1", (0, 2.0)), (1e9, 1e9))
    assert values(pb.read(tmp_path / "runs")["exp"].ranks[1]) == [2.0]
    assert pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--yes").code == 0
    assert values(pb.read(tmp_path / "archive" / "runs")["exp"].ranks[1]) == [2.0]
    assert tree(tmp_path / "runs") == {}


def test_empty_directories_are_removed_but_the_log_directory_stays(pulseboard, tmp_path):
    os.utime(write_run(tmp_path / "here" / "runs" / "sweep" / "a", (0, 1.0)), (1e9, 1e9))
    pulseboard("archive", tmp_path / "here" / "runs", "--to", tmp_path / "archive", "--yes")
    assert list((tmp_path / "here").rglob("*")) == [tmp_path / "here" / "runs"]


def test_a_run_given_by_its_own_path_leaves_no_empty_directory(pulseboard, tmp_path):
    os.utime(write_run(tmp_path / "here" / "runs" / "a", (0, 1.0)), (1e9, 1e9))
    pulseboard("archive", tmp_path / "here" / "runs" / "a", "--to", tmp_path / "archive", "--yes")
    assert list((tmp_path / "here").rglob("*")) == [tmp_path / "here" / "runs"]
    assert set(pb.read(tmp_path / "archive")) == {"a"}


def test_an_event_file_given_by_itself_is_archived(pulseboard, tmp_path):
    path = write_run(tmp_path / "exp", (0, 1.0))
    os.utime(path, (1e9, 1e9))
    assert pulseboard("archive", path, "--to", tmp_path / "archive", "--yes").code == 0
    assert not path.exists()
    (found,) = pb.read(tmp_path / "archive").values()
    assert values(found) == [1.0]


# ---- again, and in odd places


def test_archiving_again_finds_nothing_more_to_do(pulseboard, runs, tmp_path):
    """The archive may lie within the log directory, and what is in it stays where it is."""
    want = series_of(pb.read(runs))
    for _ in range(2):
        assert pulseboard("archive", runs, "--to", runs / "archive", "--yes").code == 0
    assert pulseboard("archive", runs, "--to", runs / "archive").out == "Nothing to archive.\n"
    assert series_of(pb.read(runs / "archive" / "runs")) == want


def test_runs_may_be_compressed_where_they_are(pulseboard, runs, tmp_path):
    want = series_of(pb.read(runs))
    for _ in range(2):
        assert pulseboard("archive", runs, "--to", tmp_path, "--yes").code == 0
        assert series_of(pb.read(runs)) == want
    assert all(path.name.endswith(".gz") for path in runs.rglob("*tfevents*"))


def test_a_run_and_a_link_to_it_are_archived_once_under_the_runs_own_name(pulseboard, tmp_path):
    os.utime(write_run(tmp_path / "runs" / "exp", (0, 1.0)), (1e9, 1e9))
    (tmp_path / "runs" / "a_link").symlink_to("exp")
    (tmp_path / "runs" / "latest").symlink_to("exp")
    ran = pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert set(pb.read(tmp_path / "archive" / "runs")) == {"exp"}


# ---- what must not go wrong


def test_a_copy_that_does_not_read_back_keeps_the_original(pulseboard, runs, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_same_content", lambda source, copy, *, compressed: False)
    before = tree(runs)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "baseline", "-r", "resumed")
    assert ran.code == 1
    assert ran.err.count("Not archived: the copy differs from the file. The file was left in place: ") == 3
    assert tree(runs) == before
    assert tree(tmp_path / "archive") == {}


def test_failures_are_in_the_json_too(pulseboard, runs, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_same_content", lambda source, copy, *, compressed: False)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "--json", "-r", "baseline")
    assert ran.code == 1
    (failed,) = json.loads(ran.out)["failed"]
    assert "the copy differs from the file" in failed


def test_a_corrupted_copy_is_noticed(pulseboard, runs, tmp_path, monkeypatch):
    """The real comparison, with a disk that lies."""
    copy = archive._copy

    def corrupt(source, target, *, compress):
        copy(source, target, compress=compress)
        data = bytearray(Path(target).read_bytes())
        data[len(data) // 2] ^= 1
        Path(target).write_bytes(data)

    monkeypatch.setattr(archive, "_copy", corrupt)
    before = tree(runs)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "baseline")
    assert ran.code == 1
    assert "Not archived: " in ran.err
    assert tree(runs) == before
    assert tree(tmp_path / "archive") == {}


def test_a_file_that_grows_while_it_is_copied_stays(pulseboard, runs, tmp_path, monkeypatch):
    same = archive._same_content

    def grow(source, copy, *, compressed):
        result = same(source, copy, compressed=compressed)
        with open(source, "ab") as stream:
            stream.write(event_file(*scalars("loss", (99, 1.0))))
        return result

    monkeypatch.setattr(archive, "_same_content", grow)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "sweep/lr=0.1")
    assert ran.code == 1
    assert "it changed during the copy" in ran.err
    assert len(pb.read(runs)["sweep/lr=0.1"].series("loss")) == 2


def test_an_existing_file_is_not_overwritten(pulseboard, runs, tmp_path):
    target = tmp_path / "archive" / "runs" / "baseline" / "events.out.tfevents.1700000000.host.gz"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"another file")
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "baseline")
    assert ran.code == 1
    assert f"there already is a file at {target}" in ran.err
    assert target.read_bytes() == b"another file"
    assert "baseline" in pb.read(runs)


def test_an_archive_directory_that_cannot_be_created_is_reported(pulseboard, runs, tmp_path):
    (tmp_path / "occupied").write_text("a file")
    before = tree(runs)
    ran = pulseboard("archive", runs, "--to", tmp_path / "occupied", "--yes", "-r", "baseline")
    assert ran.code == 1
    assert "Not archived: " in ran.err
    assert tree(runs) == before


def test_a_file_that_disappears_is_reported_and_the_rest_is_archived(pulseboard, runs, tmp_path, monkeypatch):
    move = archive.archive_file

    def lose_one(source, target):
        if "lr=0.1" in source:
            os.unlink(source)
        return move(source, target)

    monkeypatch.setattr(archive, "archive_file", lose_one)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "sweep")
    assert ran.code == 1
    assert "No such file or directory" in ran.err
    assert "sweep/lr=0.01" in pb.read(tmp_path / "archive" / "runs")


def test_an_original_that_cannot_be_removed_leaves_no_second_copy(pulseboard, runs, tmp_path, monkeypatch):
    unlink = os.unlink

    def refuse(path, **options):
        if str(path).startswith(str(runs)):
            raise PermissionError(13, "Permission denied", path)
        return unlink(path, **options)

    before = tree(runs)
    monkeypatch.setattr("os.unlink", refuse)
    ran = pulseboard("archive", runs, "--to", tmp_path / "archive", "--yes", "-r", "baseline")
    monkeypatch.undo()
    assert ran.code == 1
    assert "Not archived: Permission denied" in ran.err
    assert tree(runs) == before
    assert tree(tmp_path / "archive") == {}


def test_runs_that_still_change_are_skipped(pulseboard, tmp_path):
    write_run(tmp_path / "runs" / "live", (0, 1.0))
    os.utime(write_run(tmp_path / "runs" / "done", (0, 1.0)), (time.time() - 3600,) * 2)
    ran = pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--yes")
    assert ran.code == 0
    assert "Skipped, changed in the last 600 s: live" in ran.out
    assert set(pb.read(tmp_path / "runs")) == {"live"}
    assert set(pb.read(tmp_path / "archive" / "runs")) == {"done"}


def test_the_age_at_which_a_run_counts_as_done_can_be_chosen(pulseboard, tmp_path):
    os.utime(write_run(tmp_path / "runs" / "exp", (0, 1.0)), (time.time() - 100,) * 2)

    def left_out(*args):
        ran = pulseboard("archive", tmp_path / "runs", "--to", tmp_path / "archive", "--json", *args)
        return json.loads(ran.out)["left_out"]

    assert left_out() == [{"run": "exp", "because": "changed recently"}]
    assert left_out("--min-age", "60") == []


def test_points_count_once_if_both_original_and_archived_file_exist(pulseboard, tmp_path):
    """As an archiving that was killed between the copy and the removal leaves it."""
    path = tmp_path / "runs" / "exp" / "events.out.tfevents.1"
    path.parent.mkdir(parents=True)
    path.write_bytes(event_file(version(), *scalars("loss", (0, 1.0))))
    want = all_of(pb.read(tmp_path / "runs"))
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    assert all_of(pb.read(tmp_path / "runs")) == want
