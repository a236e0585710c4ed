"""W&B's own files: what W&B writes offline, files of the corpus, and files that are cut or damaged."""

import json
import os
import struct
import subprocess
import sys
import zlib

import pytest
from foreign_logs import CORPUS, levels, need_corpus, only_run, points, written

from pulseboard.read.foreign import foreign_runs

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


def test_history_and_configuration_with_steps_and_times(tmp_path):
    data = wandb_file(configured(lr=0.1), history(0, loss=2.5), history(7, loss="NaN", acc=0.5), configured(lr=0.2))
    written(tmp_path / "wandb" / "run-1-abc" / "run-abc.wandb", data)
    written(tmp_path / "wandb" / "run-1-abc" / "files" / "output.log", "step 1 loss: 3\nstep 2 loss: 3\n")
    runs = foreign_runs(tmp_path)
    assert list(runs) == ["wandb/run-1-abc"]
    run = runs["wandb/run-1-abc"]
    assert points(run, "loss") == [(0, 2.5), (7, "nan")]
    assert points(run, "acc") == [(7, 0.5)]
    assert run.series("loss").wall_times.tolist() == [1_700_000_000.5, 1_700_000_007.5]
    assert run.config() == {"lr": 0.2}
    assert run.notes() == []


def test_a_record_that_spans_blocks_is_put_together(tmp_path):
    records = [history(step, loss=step / 4, text="x" * 50_000) for step in range(20)]
    run = only_run(written(tmp_path / "run-a.wandb", wandb_file(*records)))
    assert points(run, "loss") == [(step, step / 4) for step in range(20)]


def test_a_file_that_was_cut_anywhere_keeps_its_whole_records(tmp_path):
    data = wandb_file(*(history(step, loss=float(step)) for step in range(6)))
    for end in range(7, len(data), 5):
        run = only_run(written(tmp_path / "run-a.wandb", data[:end]))
        found = points(run, "loss") if run.tags() else []
        assert found == [(step, float(step)) for step in range(len(found))]
        assert levels(run) in ([], ["info"])
    assert len(found) >= 4


def test_a_damaged_record_is_skipped_and_told(tmp_path):
    data = bytearray(wandb_file(*(history(step, loss=float(step)) for step in range(6))))
    data[len(data) // 2] ^= 0xFF
    run = only_run(written(tmp_path / "run-a.wandb", bytes(data)))
    assert 4 <= len(run.series("loss")) <= 5
    assert levels(run) == ["damage"]
    assert "checksum" in run.notes()[0].what
    assert run.notes()[0].byte > 7


def test_every_single_damaged_byte_raises_nothing(tmp_path):
    sound = wandb_file(configured(lr=0.1), *(history(step, loss=float(step)) for step in range(3)))
    for at in range(6, len(sound)):
        data = bytearray(sound)
        data[at] ^= 0x55
        for run in foreign_runs(written(tmp_path / "run-a.wandb", bytes(data))).values():
            assert all(len(run.series(tag)) for tag in run.tags())


def test_lightnings_global_step_is_the_step(tmp_path):
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


def test_what_wandb_itself_writes_offline(tmp_path):
    quiet = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run([sys.executable, "-c", _OFFLINE, str(tmp_path)], capture_output=True, env=quiet, timeout=240)
    assert done.returncode == 0, done.stderr
    (run,) = foreign_runs(tmp_path).values()
    assert run.format == "wandb"
    assert points(run, "loss") == [(0, 1.0), (10, 0.5), (20, 1 / 3), (30, "nan"), (40, 0.2)]
    assert points(run, "nested/a") == [(10 * i, float(i)) for i in range(5)]
    assert points(run, "big") == [(10 * i, float("inf")) for i in range(5)]
    assert sorted(run.tags()) == ["big", "loss", "nested/a"]  # in whatever order wandb wrote them
    assert run.config() == {"lr": 0.1, "opt": {"name": "adam"}}
    assert run.hparams().values == {"lr": 0.1, "opt/name": "adam"}
    assert abs(run.started - (tmp_path / "wandb").stat().st_mtime) < 300


def test_real_files_have_the_last_values_that_wandb_itself_summed_up():
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
