"""The disk index of logs of other formats: a restart does not read them again, and results are the same."""

import json
import os
import random

import pytest
from charts.indexed_runs import index_files, read

import pulseboard as pb
from pulseboard.charts import index as index_module


@pytest.fixture
def logs(tmp_path):
    """A CSV file with two trainings and damage, one of Lightning with settings, JSON lines, text, and a small file."""
    top = tmp_path / "logs"
    rng = random.Random(0)
    rows = [f"{step},{rng.random():.4f},2026-01-02 03:04:05" for _ in range(2) for step in range(2000)]
    _write(top / "a" / "log.csv", "step,loss,date\n" + "\n".join([*rows[:50], "50,oops,", *rows[50:]]) + "\n51,0.")
    _write(top / "b" / "metrics.csv", "step,epoch,loss\n" + "".join(f"{i},{i // 9},{i / 7}\n" for i in range(4000)))
    _write(top / "b" / "hparams.yaml", "lr: 0.5\nlayers: [1, 2]\n")
    _write(top / "c" / "log.jsonl", "".join(json.dumps({"step": i, "loss": 1 / (i + 1)}) + "\n" for i in range(3000)))
    _write(top / "d" / "train.log", "".join(f"step {i}: loss {9 / (i + 1):.5f}\n" for i in range(3000)))
    _write(top / "small" / "log.csv", "step,loss\n0,1\n1,2\n")
    return top


def read_and_save(top, **options):
    """Read the runs, and save them in the index."""
    _, index = read(top, **options)
    index.close()


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _as_before(path, change):
    """Change a file, but keep its size and time."""
    stat = path.stat()
    data = change(path.read_bytes())
    assert len(data) == stat.st_size
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _everything(runs):
    return sorted(map(str, runs.notes())), {name: _content(run) for name, run in runs.items()}


def _content(run):
    series = [run.series(tag, orphans=True) for tag in run.tags()]
    arrays = [(s.tag, *(a.tobytes() for a in (s.steps, s.wall_times, s.values, s.orphaned))) for s in series]
    about = (run.format, run.path, run.directory, run.last_active, run.points, str(run.axis), run.config())
    return arrays, about, str(run.restarts()), [str(stats) for stats in run.stats()]


def test_a_restart_does_not_open_logs_that_have_not_changed(logs, cache):
    runs, index = read(logs)
    before = _everything(runs)
    assert len(before[1]) == 6  # two trainings in one of the files
    index.close()
    assert len(index_files(cache)) == 4
    for path in (*logs.glob("*/*.csv"), *logs.glob("*/*.jsonl"), *logs.glob("*/*.log")):
        if path.parent.name != "small":
            _as_before(path, lambda data: b"\0" * len(data))
    found, index = read(logs)
    assert index.restored == 4
    assert _everything(found) == before


def test_a_log_that_changed_is_read_again_and_then_indexed_as_it_is(logs):
    read_and_save(logs)
    with (logs / "c" / "log.jsonl").open("a") as stream:
        stream.write('{"step": 3000, "loss": 5.0}\n')
    found, index = read(logs)
    assert index.restored == 3
    assert found["c/log.jsonl"].series("loss").values[-1] == 5.0
    assert _everything(found) == _everything(pb.read(logs))
    index.close()
    found, index = read(logs)
    assert index.restored == 4
    assert _everything(found) == _everything(pb.read(logs))


def test_a_restored_log_is_followed(logs):
    read_and_save(logs)
    found, index = read(logs)
    assert index.restored == 4
    assert not found.refresh()
    for step in (3000, 3001):
        with (logs / "d" / "train.log").open("a") as stream:
            stream.write(f"step {step}: loss 0.5\n")
        assert found.refresh().grown == ("d/train.log",)
    assert _everything(found) == _everything(pb.read(logs))


@pytest.mark.parametrize("change", ["settings", "code", "path", "time zone"])
def test_whatever_else_the_result_depends_on_is_checked_too(logs, monkeypatch, change):
    from pulseboard.charts import parsed_index

    read_and_save(logs)
    if change == "settings":
        (logs / "b" / "hparams.yaml").write_text("lr: 0.25\n")
    elif change == "code":
        monkeypatch.setattr(parsed_index, "_code_digest", lambda: 1)
    elif change == "path":
        (logs / "b").rename(logs / "e")
    else:
        monkeypatch.setenv("TZ", "Asia/Kolkata")
    found, index = read(logs)
    assert index.restored == {"settings": 3, "code": 0, "path": 3, "time zone": 0}[change]
    assert _everything(found) == _everything(pb.read(logs))


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_index_is_ignored(logs, cache, seed):
    read_and_save(logs)
    rng = random.Random(seed)
    for path in index_files(cache):
        data = bytearray(path.read_bytes())
        match seed % 3:
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
            case 2:
                data[: rng.randrange(64)] = rng.randbytes(rng.randrange(64))
        path.write_bytes(data)
    found, _ = read(logs)
    assert _everything(found) == _everything(pb.read(logs))


def test_a_configuration_that_json_cannot_hold_is_not_indexed(logs):
    (logs / "b" / "hparams.yaml").write_text("when: 2026-01-02\nnot: {1: 2}\n")
    runs, index = read(logs)
    index.close()
    assert index.problem is None
    found, index = read(logs)
    assert index.restored == 3
    assert _everything(found) == _everything(runs)


def test_the_size_limit_holds_for_all_formats_together(logs, cache):
    read_and_save(logs, max_bytes=100_000)
    assert 0 < sum(path.stat().st_size for path in index_files(cache)) <= 100_000


def test_a_growing_log_is_not_written_with_every_row(logs, monkeypatch):
    runs, index = read(logs)
    index.save()
    written = []
    # A busy machine may take so long that the other logs count as no longer growing.
    monkeypatch.setattr(index_module, "_IDLE_SECS", 1e6)
    # Of this index only: those of other tests may still be writing.
    monkeypatch.setattr(index, "_write_one", lambda log, name: written.append(name))
    for step in range(3000, 3005):
        with (logs / "d" / "train.log").open("a") as stream:
            stream.write(f"step {step}: loss 0.5\n")
        runs.refresh()
        assert index._due() == []
    with (logs / "d" / "train.log").open("a") as stream:
        stream.write("".join(f"step {step}: loss 0.5\n" for step in range(3005, 4500)))
    runs.refresh()
    (grown,) = index._due()
    index.close()
    assert written.count(grown) == 1
