"""Everything that was pushed can be taken out of a database again."""

import shutil

import numpy as np
import pytest
from database.comparing import push
from database.test_media import record
from log_directories import write_run

import pulseboard as pb
from pulseboard.cli import main
from pulseboard.read.runs import read


@pytest.fixture
def logs(tmp_path, connection):
    record(tmp_path / "logs")
    with pb.init(dir=tmp_path / "logs", name="b", config={"lr": 0.1}, telemetry_secs=0) as run:
        for step in range(20):
            run.log({"loss": step / 3}, step=step)
            run.histogram("weights", np.arange(10.0) * step, step=step)
    write_run(tmp_path / "logs" / "odd", (0, np.nan), (1, np.inf), (5, -2.5), wall_time=1e9)
    push(tmp_path / "logs", connection)
    return tmp_path / "logs"


def test_event_files_from_a_database_hold_what_the_logs_held(logs, url, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["export", url, "-f", "tensorboard", "-o", str(out), "--media", str(logs)]) == 0
    before, after = read(logs), read(out)
    assert sorted(after) == sorted(before)
    for name, run in before.items():
        assert {tag: info.kinds for tag, info in after[name].infos().items()} == {
            tag: info.kinds for tag, info in run.infos().items()
        }
        for tag, info in run.infos().items():
            for kind in info.kinds:
                expected, found = (
                    [str(one.series(tag).columns())] if kind == "scalar" else [*map(repr, one.values(tag, kind=kind))]
                    for one in (run, after[name])
                )
                assert found == expected, (tag, kind)
                assert expected
        assert after[name].hparams() == run.hparams()
    capsys.readouterr()
    shutil.rmtree(out)
    shutil.rmtree(logs)
    assert main(["export", url, "-f", "tensorboard", "-o", str(out)]) == 0
    assert (
        "Left out 3 values of tag 'sample': the log has them, and no `--media DIR` was given."
        in capsys.readouterr().err
    )
    (run,) = (run for run in read(out).values() if "note" in run.tags())
    assert run.texts("note")[0].text == "hello"
    assert "sample" not in run.tags()


def test_parquet_from_a_database_has_every_point(logs, url, tmp_path):
    both = []
    for source, path in ((str(logs), tmp_path / "a.parquet"), (url, tmp_path / "b.parquet")):
        assert main(["export", source, "-o", str(path)]) == 0
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        both.append(sorted(map(repr, table.to_pylist())))
    assert len(both[0]) == 23
    assert both[0] == both[1]
