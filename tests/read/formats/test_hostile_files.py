"""Files made to hurt: a few bytes that stand for endless work, and records that are damaged in the middle."""

import sqlite3
import time

import pytest
from other_formats import levels, only_run, points, written

from pulseboard.read.formats.wandb_file import WandbLog
from pulseboard.read.parsing.yaml_file import NotUsable, parse_yaml

ALIASES = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


def test_a_yaml_file_whose_aliases_stand_for_billions_of_values_is_left_out(tmp_path):
    began = time.process_time()
    with pytest.raises(NotUsable, match="aliases"):
        parse_yaml(ALIASES)
    written(tmp_path / "version_0" / "hparams.yaml", ALIASES)
    written(tmp_path / "version_0" / "metrics.csv", "epoch,step,loss\n0,1,0.5\n0,2,0.4\n")
    run = only_run(tmp_path)
    assert points(run, "loss") == [(1, 0.5), (2, 0.4)]
    assert run.config() == {}
    assert time.process_time() - began < 10


def test_a_row_of_wandb_that_ends_in_the_middle_leaves_the_others(tmp_path):
    pytest.importorskip("wandb.proto.wandb_internal_pb2")
    from read.formats.test_wandb import history, wandb_file

    class Cut:
        """A record whose last bytes are damaged: its first value can be read, its second cannot."""

        def __init__(self, record):
            self.record = record

        def SerializeToString(self):  # noqa: N802 - the name of protobuf's method
            data = bytearray(self.record.SerializeToString())
            at = data.rindex(b"acc")
            data[at - 1] = 0x7F  # the length of the name reaches beyond the item
            return bytes(data)

    rows = [
        history(0, loss=1.0),
        history(1, loss=2.0, acc=0.5),
        Cut(history(2, loss=3.0, acc=0.6)),
        history(3, loss=4.0),
    ]
    path = written(tmp_path / "run-1-abc" / "run-abc.wandb", wandb_file(*rows))
    (run,) = WandbLog(str(path)).runs()
    assert run.series["loss"].steps.tolist()[-1] == 3
    assert len(run.series["acc"]) <= 2


def test_a_database_with_texts_that_are_not_utf8_is_read(tmp_path):
    path = tmp_path / "mlflow.db"
    database = sqlite3.connect(path)
    bad = "cast(x'ff31fe' as text)"
    for table in (
        "experiments (experiment_id int, name text)",
        "runs (run_uuid text, name text, experiment_id int, lifecycle_stage text, start_time int)",
        "metrics (key text, value real, timestamp int, run_uuid text, step int, is_nan int)",
        "params (key text, value text, run_uuid text)",
    ):
        database.execute(f"create table {table}")
    database.execute(f"insert into experiments values (1, {bad})")
    database.execute(f"insert into runs values ('r', {bad}, 1, 'active', 1)")
    database.execute(f"insert into params values ({bad}, {bad}, 'r')")
    database.execute(f"insert into metrics values ({bad}, 0.5, 1, 'r', 3, 0)")
    database.commit()
    database.close()
    run = only_run(path)
    assert points(run, run.tags()[0]) == [(3, 0.5)]
    assert "damage" not in levels(run)
