"""W&B's own files: what W&B writes offline, files of the corpus, and files that are cut or damaged."""

import json
import os
import struct
import subprocess
import sys
import zlib

import pytest
from corpus import CORPUS, need_corpus
from other_formats import levels, only_run, points, runs_of_other_formats, written

pb2 = pytest.importorskip("wandb.proto.wandb_internal_pb2")

BLOCK = 32 << 10


def wandb_file(*records):
    """Records of W&B's own messages in its file format, pieces split at blocks."""
    data = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        rest, first = record.SerializeToString(), True
        while rest or first:
            room = BLOCK - len(data) % BLOCK
            if room < 7:
                data += bytes(room)
                continue
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            checksum = zlib.crc32(part, zlib.crc32(bytes([kind])))
            data += struct.pack("<IHB", checksum, len(part), kind) + part
            first = False
    return bytes(data)


def history(step, **values):
    record = pb2.Record()
    record.history.step.num = step
    for name, value in {"_timestamp": 1_700_000_000.5 + step, **values}.items():
        record.history.item.add(key=name, value_json=json.dumps(value))
    return record


def configured(**values):
    record = pb2.Record()
    for name, value in values.items():
        record.config.update.add(key=name, value_json=json.dumps(value))
    return record


def test_the_history_is_read_with_steps_times_and_configuration(tmp_path):
    data = wandb_file(configured(lr=0.1), history(0, loss=2.5), history(7, loss="NaN", acc=0.5), configured(lr=0.2))
    written(tmp_path / "wandb" / "run-1-abc" / "run-abc.wandb", data)
    written(tmp_path / "wandb" / "run-1-abc" / "files" / "output.log", "step 1 loss: 3\nstep 2 loss: 3\n")
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["wandb/run-1-abc"]
    run = runs["wandb/run-1-abc"]
    assert points(run, "loss") == [(0, 2.5), (7, "nan")]
    assert points(run, "acc") == [(7, 0.5)]
    assert run.series("loss").wall_times.tolist() == [1_700_000_000.5, 1_700_000_007.5]
    assert run.config() == {"lr": 0.2}
    assert run.notes() == []


def test_a_record_that_spans_blocks_is_joined(tmp_path):
    records = [history(step, loss=step / 4, text="x" * 50_000) for step in range(20)]
    run = only_run(written(tmp_path / "run-a.wandb", wandb_file(*records)))
    assert points(run, "loss") == [(step, step / 4) for step in range(20)]


def test_a_file_truncated_anywhere_keeps_its_complete_records(tmp_path):
    data = wandb_file(*(history(step, loss=float(step)) for step in range(6)))
    for end in range(7, len(data), 5):
        run = only_run(written(tmp_path / "run-a.wandb", data[:end]))
        found = points(run, "loss") if run.tags() else []
        assert found == [(step, float(step)) for step in range(len(found))]
        assert levels(run) in ([], ["info"])
    assert len(found) >= 4


def test_a_damaged_record_is_skipped_and_noted(tmp_path):
    data = bytearray(wandb_file(*(history(step, loss=float(step)) for step in range(6))))
    data[len(data) // 2] ^= 0xFF
    run = only_run(written(tmp_path / "run-a.wandb", bytes(data)))
    assert 4 <= len(run.series("loss")) <= 5
    assert levels(run) == ["damage"]
    assert "checksum" in run.notes()[0].what
    assert run.notes()[0].byte > 7


def test_damage_in_any_byte_raises_no_error(tmp_path):
    sound = wandb_file(configured(lr=0.1), *(history(step, loss=float(step)) for step in range(3)))
    for at in range(6, len(sound)):
        data = bytearray(sound)
        data[at] ^= 0x55
        for run in runs_of_other_formats(written(tmp_path / "run-a.wandb", bytes(data))).values():
            assert all(len(run.series(tag)) for tag in run.tags())


def test_steps_come_from_lightnings_global_step(tmp_path):
    rows = (history(i, **{"loss": 1.0 / (i + 1), "trainer/global_step": 50 * i + 49}) for i in range(4))
    run = only_run(written(tmp_path / "run-a.wandb", wandb_file(*rows)))
    assert points(run, "loss")[:2] == [(49, 1.0), (99, 0.5)]
    assert run.tags() == ["loss"]


_OFFLINE = """
import sys, wandb
settings = wandb.Settings(x_disable_stats=True, console="off", silent=True)
config = {"lr": 0.1, "opt": {"name": "adam"}}
run = wandb.init(project="p", dir=sys.argv[1], config=config, mode="offline", settings=settings)
run.define_metric("*", step_metric="global")
for i in range(5):
    loss = float("nan") if i == 3 else 1 / (i + 1)
    run.log({"loss": loss, "nested": {"a": i}, "global": i * 10, "h": wandb.Histogram([1, 2, 3]), "big": float("inf")})
run.finish()
"""


def test_what_wandb_writes_offline_is_read(tmp_path):
    quiet = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run([sys.executable, "-c", _OFFLINE, str(tmp_path)], capture_output=True, env=quiet, timeout=240)
    assert done.returncode == 0, done.stderr
    (run,) = runs_of_other_formats(tmp_path).values()
    assert run.format == "wandb"
    assert points(run, "loss") == [(0, 1.0), (10, 0.5), (20, 1 / 3), (30, "nan"), (40, 0.2)]
    assert points(run, "nested/a") == [(10 * i, float(i)) for i in range(5)]
    assert points(run, "big") == [(10 * i, float("inf")) for i in range(5)]
    assert sorted(run.tags()) == ["big", "loss", "nested/a"]  # in whatever order wandb wrote them
    assert run.config() == {"lr": 0.1, "opt": {"name": "adam"}}
    assert run.hparams().values == {"lr": 0.1, "opt/name": "adam"}
    assert abs(run.started - (tmp_path / "wandb").stat().st_mtime) < 300


def test_real_files_end_with_the_values_in_wandbs_own_summary():
    need_corpus()
    checked = 0
    for path in sorted((CORPUS / "BullsEye268+da6401_assignment3" / "wandb").glob("*/run-*.wandb")):
        run = only_run(path)
        summary = path.parent / "files" / "wandb-summary.json"
        if not summary.exists():
            continue
        for tag, value in json.loads(summary.read_text()).items():
            if tag in run.tags():
                assert run.series(tag).values[-1] == value, (path, tag)
                checked += 1
    assert checked > 60


@pytest.mark.parametrize("seed", range(12))
def test_a_file_that_grows_piece_by_piece_reads_like_the_whole_file(tmp_path, monkeypatch, seed):
    import random

    from pulseboard.read.format import all_readers
    from pulseboard.read.parsing import prefix

    monkeypatch.setattr(prefix, "_MIN_BYTES", 64)
    rng = random.Random(seed)
    records = [configured(lr=0.1, nested={"a": [1]})]
    for step in range(60):
        long = {"text": "x" * rng.randrange(40_000)} if rng.random() < 0.1 else {}
        records.append(history(step, loss=rng.random(), **long))
        if rng.random() < 0.1:
            records.append(configured(lr=step))
    data = bytearray(wandb_file(*records))
    for _ in range(rng.randrange(3)):  # damage
        data[rng.randrange(100, len(data))] ^= 255
    path = tmp_path / "run-a.wandb"
    reader = next(one for one in all_readers() if one.id == "wandb")
    follower = reader.follow()
    size = 0
    for cut in [*sorted(rng.sample(range(7, len(data)), 25)), len(data)]:
        with path.open("ab") as stream:
            stream.write(data[size:cut])
        size = cut
        (grown,), (fresh,) = follower.update(str(path)), reader.read(str(path))
        assert (grown.config, grown.notes) == (fresh.config, fresh.notes)
        assert _columns(grown) == _columns(fresh)
    os.truncate(path, len(data) // 2)
    (cut_off,), (fresh,) = follower.update(str(path)), reader.read(str(path))
    assert _columns(cut_off) == _columns(fresh)


def _columns(run):
    return [(tag, s.steps.tolist(), s.wall_times.tolist(), s.values.tolist()) for tag, s in run.series.items()]


def test_only_new_records_of_a_large_file_are_parsed(tmp_path, monkeypatch):
    from pulseboard.read.formats import wandb_file as module

    parsed = []
    add = module.WandbLog._add
    monkeypatch.setattr(module.WandbLog, "_add", lambda *record: parsed.append(1) or add(*record))
    path = written(tmp_path / "run-a.wandb", wandb_file(*(history(step, loss=0.5) for step in range(2000))))
    log = module.WandbLog(str(path))
    assert len(parsed) == 2000
    data = wandb_file(*(history(step, loss=0.5) for step in range(2003)))
    with path.open("ab") as stream:
        stream.write(data[path.stat().st_size :])
    assert log.read_on()
    assert len(parsed) == 2003
    (run,) = log.runs()
    assert len(run.series["loss"]) == 2003
