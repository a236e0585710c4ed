"""Sinks and telemetry of a run."""

import json
import time

import pytest
from record.recorded_runs import begin, points, read

import pulseboard as pb
from pulseboard.record.run_telemetry import RunTelemetry

# ---------- sinks


def test_a_failing_sink_is_dropped_with_one_message_and_the_others_go_on(tmp_path, capsys):
    from pulseboard.record import sink as sinks

    taken = []

    @sinks.sink(id="failing")
    class Failing(sinks.Sink):
        def scalars(self, values, *, step, wall_time):
            if step == 7:
                raise OSError("No space left on device")

    @sinks.sink(id="keeping")
    class Keeping(sinks.Sink):
        def scalars(self, values, *, step, wall_time):
            taken.append((step, values))

    with begin(tmp_path, report_to=["tensorboard", "failing", "keeping"], settings={"strict": False}) as run:
        for step in range(10):
            run.log({"x": float(step)}, step=step)
    assert taken == [(step, {"x": float(step)}) for step in range(10)]
    assert len(read(tmp_path).series("x")) == 10
    stderr = capsys.readouterr().err
    assert "sink failing stopped at step 7: No space left on device." in stderr
    assert stderr.count("failing") == 1


def external_sink():
    from pulseboard.record import sink as sinks

    @sinks.sink(id="external")
    class External(sinks.Sink):
        pass


def test_an_external_sink_alone_leaves_the_event_file_the_json_log_and_the_console_on(tmp_path, capsys):
    external_sink()
    with begin(tmp_path, report_to=["external"]) as run:
        run.log({"train/loss": 2.5}, step=3)
    assert points(read(tmp_path).series("train/loss")) == [(3, 2.5)]
    assert list(run.directory.glob("logs/tensorboard/*tfevents*"))
    records = json.loads((run.directory / "training.json").read_text())
    assert [(record["step"], record["values"]) for record in records if record["log"] == "scalars"] == [
        (3, {"train/loss": 2.5})
    ]
    assert ":: step       3" in capsys.readouterr().out


def test_a_local_sink_in_report_to_means_that_the_others_are_off(tmp_path, capsys):
    external_sink()
    with begin(tmp_path, report_to=["tensorboard", "external"]) as run:
        run.log({"train/loss": 2.5}, step=3)
    assert not (run.directory / "training.json").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("report_to", [None, ["tensorboard"]])
def test_the_path_of_a_json_log_turns_that_log_on(tmp_path, capsys, report_to):
    with begin(tmp_path, report_to=report_to, log_file=str(tmp_path / "output" / "training.json")) as run:
        run.log({"train/loss": 2.5}, step=3)
    records = json.loads((tmp_path / "output" / "training.json").read_text())
    assert [record["values"] for record in records if record["log"] == "scalars"] == [{"train/loss": 2.5}]
    assert points(read(tmp_path).series("train/loss")) == [(3, 2.5)]
    assert capsys.readouterr().out == "", "the console stays off"


@pytest.mark.parametrize("off", [{"report_to": "none"}, {"local_logs": False}])
def test_the_path_of_a_json_log_turns_nothing_on_where_local_logs_are_off(tmp_path, off):
    with begin(tmp_path, log_file=str(tmp_path / "training.json"), **off) as run:
        run.log({"train/loss": 2.5}, step=3)
    assert not (tmp_path / "training.json").exists()


def test_local_logs_can_be_turned_off(tmp_path, capsys):
    external_sink()
    with begin(tmp_path, report_to="external", settings={"local_logs": False}) as run:
        run.log({"train/loss": 2.5}, step=3)
    assert [path.name for path in run.directory.rglob("*") if path.is_file()] == ["run.json"]
    assert capsys.readouterr().out == ""


def test_the_calls_of_a_training_run_logger_reach_the_event_file_and_every_sink(tmp_path):
    from pulseboard.record import sink as sinks

    records = []

    @sinks.sink(id="records")
    class Records(sinks.Sink):
        def record(self, record):
            records.append(record)

    with begin(tmp_path, report_to=["tensorboard", "records", "json"]) as run:
        logger = pb.TrainingRunLogger(None, verbosity=pb.LogVerbosity.SILENT, run=run)
        logger.log_moe_stats(3, 0.01, 0.001, 0.9, 1.1)
        logger.log_step(3, 0.1, 16384, 156, 0.5, 2.25, 0.0002)
        logger.log_allocator(3, {"weights": 1 << 30})
        logger.close()
    assert [record["log"] for record in records] == ["moe", "step", "allocator"]
    written = json.loads((run.directory / "training.json").read_text())
    assert [record["log"] for record in written] == ["moe", "step", "allocator"]
    (event_file,) = (run.directory / "logs").rglob("*tfevents*")
    in_event_file = next(iter(pb.read(event_file).values()))
    assert any(points(in_event_file.series(tag)) == [(3, 2.25)] for tag in in_event_file.tags("scalar"))


def test_an_unknown_sink_is_reported_and_does_not_stop_training(tmp_path, capsys):
    with begin(tmp_path, report_to=["tensorboard", "wandbb"], settings={"strict": False}) as run:
        run.log({"x": 1.0}, step=0)
    assert "There is no sink 'wandbb'. Known:" in capsys.readouterr().err
    assert len(read(tmp_path).series("x")) == 1


def test_the_heartbeat_is_updated(tmp_path, monkeypatch):
    from pulseboard.record import active_run

    monkeypatch.setattr(active_run, "HEARTBEAT_SECS", 0.0)
    with begin(tmp_path) as run:
        first = json.loads((run.directory / "run.json").read_text())["heartbeat"]
        deadline = time.monotonic() + 120
        while json.loads((run.directory / "run.json").read_text())["heartbeat"] == first:
            assert time.monotonic() < deadline, "no heartbeat within 120 s"
            time.sleep(0.05)


# ---------- telemetry


def test_telemetry_is_logged_under_its_documented_tags(tmp_path):
    with begin(tmp_path, settings={"telemetry_secs": 0.05}) as run:
        run.log({"x": 1.0}, step=7)
        deadline = time.monotonic() + 120
        while "memory/ram_main_process_gb" not in read(tmp_path).tags():
            assert time.monotonic() < deadline, "no telemetry within 120 s"
            time.sleep(0.05)
    series = read(tmp_path).series("memory/ram_main_process_gb")
    assert 0 < series.values[-1] < 100
    assert series.steps[-1] in (0, 7)


def test_a_gpu_record_reaches_the_event_file_and_the_sinks(tmp_path):
    from pulseboard.record import sink as sinks

    taken = []

    @sinks.sink(id="gpu_watching")
    class Watching(sinks.Sink):
        def record(self, record):
            taken.append(record)

    with begin(tmp_path, report_to=["tensorboard", "gpu_watching"]) as run:
        run.log({"x": 1.0}, step=3)
        telemetry = RunTelemetry(run, directory=str(tmp_path), interval_secs=10.0)
        telemetry.log_record({"log": "gpu", "id": 1, "power": 350000, "temperature": 72, "dram_free": 2**30})
    got = read(tmp_path)
    assert points(got.series("gpu/1/power")) == [(3, 350000.0)]
    assert points(got.series("gpu/1/dram_free")) == [(3, 1024.0)]
    assert (taken[0]["log"], taken[0]["step"], taken[0]["power"]) == ("gpu", 3, 350000)
