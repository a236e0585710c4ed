"""Runs as a training loop records them, read back by Pulseboard and by TensorBoard."""

import datetime
import json
import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing import event_accumulator

import pulseboard as pb
from pulseboard.record.rank import Rank, current_rank
from pulseboard.record.run import Run, init
from pulseboard.record.run_directory import NoRunToResume
from pulseboard.record.settings import Settings


def begin(tmp_path, **named):
    settings = {"telemetry_secs": 0, "strict": True, **named.pop("settings", {})}
    return init(dir=tmp_path / "runs", **settings, **named)


def only(log):
    assert len(log) == 1
    return next(iter(log.values()))


def read(tmp_path):
    return only(pb.read(tmp_path / "runs"))


def points(series):
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


# ---- what it makes


def test_a_run_gets_the_date_and_the_next_number(tmp_path):
    today = datetime.date.today().isoformat()
    names = []
    for tag in (None, "baseline", None):
        with begin(tmp_path, run_tag=tag) as run:
            names.append(run.id)
    assert names == [f"{today}_001", f"{today}_002-baseline", f"{today}_003"]


def test_jobs_that_begin_together_get_different_numbers(tmp_path):
    made = []
    threads = [threading.Thread(target=lambda: made.append(begin(tmp_path, run_tag="t"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [run.id.split("-t")[0] for run in made]
    assert len(set(numbers)) == 8
    for run in made:
        run.finish()


def test_the_files_lie_where_tensorboard_users_look_for_them(tmp_path):
    with begin(tmp_path, run_id="2026-02-10_012") as run:
        run.log({"train/loss": 1.0}, step=0)
    events = list((tmp_path / "runs" / "2026-02-10_012" / "logs" / "tensorboard").iterdir())
    assert len(events) == 1
    assert "tfevents" in events[0].name
    log = pb.read(tmp_path / "runs")
    assert list(log) == ["2026-02-10_012"]
    assert log["2026-02-10_012/logs/tensorboard"] is log["2026-02-10_012"]


def test_run_json_says_what_the_run_is(tmp_path):
    with begin(tmp_path, config={"lr": 0.1, "odd": float("nan")}, tags=["a"], notes="n") as run:
        told = json.loads((run.directory / "run.json").read_text())
        assert told["status"] == "running"
        run.update_config(batch=8)
        run.tags = [*run.tags, "b"]
        run.notes = "m"
    told = json.loads((run.directory / "run.json").read_text())
    assert told["status"] == "finished"
    assert told["config"] == {"lr": 0.1, "odd": "nan", "batch": 8}
    assert (told["tags"], told["notes"], told["world_size"]) == (["a", "b"], "m", 1)
    assert {"command", "git", "host", "versions", "heartbeat", "started", "ended"} <= told.keys()
    assert told["versions"]["torch"] == torch.__version__


def test_an_exception_in_the_block_marks_the_run_failed(tmp_path):
    with pytest.raises(ZeroDivisionError), begin(tmp_path) as run:
        raise ZeroDivisionError
    assert json.loads((run.directory / "run.json").read_text())["status"] == "failed"


# ---- values


def test_every_kind_of_number_is_logged(tmp_path):
    values = {
        "python/int": 3,
        "python/float": 0.1,
        "python/bool": True,
        "numpy/float32": np.float32(1.5),
        "numpy/int": np.int64(7),
        "numpy/zero_d": np.array(2.5),
        "numpy/one": np.array([3.5]),
        "torch/float": torch.tensor(4.5),
        "torch/one": torch.tensor([5.5]),
        "torch/bfloat16": torch.tensor(6.5, dtype=torch.bfloat16),
        "torch/half": torch.tensor(7.5, dtype=torch.half),
        "torch/int": torch.tensor(8),
        "torch/grad": torch.tensor(9.5, requires_grad=True),
        "nested": {"a": 10.5, "b": {"c": 11.5}},
    }
    with begin(tmp_path) as run:
        run.log(values, step=4)
    got = {tag: points(read(tmp_path).series(tag)) for tag in read(tmp_path).tags("scalar")}
    assert got == {
        "python/int": [(4, 3.0)],
        "python/float": [(4, float(np.float32(0.1)))],
        "python/bool": [(4, 1.0)],
        "numpy/float32": [(4, 1.5)],
        "numpy/int": [(4, 7.0)],
        "numpy/zero_d": [(4, 2.5)],
        "numpy/one": [(4, 3.5)],
        "torch/float": [(4, 4.5)],
        "torch/one": [(4, 5.5)],
        "torch/bfloat16": [(4, 6.5)],
        "torch/half": [(4, 7.5)],
        "torch/int": [(4, 8.0)],
        "torch/grad": [(4, 9.5)],
        "nested/a": [(4, 10.5)],
        "nested/b/c": [(4, 11.5)],
    }


def test_nan_and_infinities_are_kept(tmp_path):
    with begin(tmp_path) as run:
        for step, value in enumerate([math.nan, math.inf, -math.inf, torch.tensor(math.nan)]):
            run.log({"x": value}, step=step)
    values = read(tmp_path).series("x").values
    assert math.isnan(values[0])
    assert values[1:3].tolist() == [math.inf, -math.inf]
    assert math.isnan(values[3])


def test_a_value_on_a_device_is_not_waited_for(tmp_path, monkeypatch):
    """A stand-in for a CUDA tensor: the caller may not ask for its value, the worker may."""
    from pulseboard.record import run as run_module

    caller = threading.get_ident()

    class OnDevice:
        def __init__(self, value):
            self.value = value

        def arrive(self):
            assert threading.get_ident() != caller, "the training loop waited for the device"
            return self.value

    def later(values):
        return {tag: value.arrive for tag, value in values.items()}, []

    monkeypatch.setattr(run_module, "later", later)
    with begin(tmp_path) as run:
        run.log({"host": 1.0, "device": OnDevice(2.0)}, step=3)
    assert points(read(tmp_path).series("device")) == [(3, 2.0)]
    assert points(read(tmp_path).series("host")) == [(3, 1.0)]


def test_values_of_a_torch_device_are_copied_together():
    """The copy itself, on the CPU in place of another device."""
    from pulseboard.record.numbers import later

    calls, wrong = later({"a": torch.tensor(1.5), "b": torch.tensor([2.5]), "many": torch.zeros(3), "word": "x"})
    assert {tag: call() for tag, call in calls.items()} == {"a": 1.5, "b": 2.5}
    assert wrong == ["many", "word"]


def test_what_is_no_number_is_told_once_and_stops_nothing(tmp_path, capsys):
    with begin(tmp_path, settings={"strict": False}) as run:
        for step in range(3):
            run.log({"good": 1.0, "word": "x", "many": np.zeros(3)}, step=step)
        run.log({"good": 2.0}, step="later")
        run.log("nonsense")
        run.log({"good": 3.0}, step=3)
    assert len(read(tmp_path).series("good")) == 4
    told = capsys.readouterr().err
    assert told.count("'word' was not logged at step 0") == 1
    assert told.count("'many' was not logged at step 0: a ndarray of (3,)") == 1


def test_strict_raises_instead(tmp_path):
    run = begin(tmp_path)
    with pytest.raises(TypeError, match="'word' was not logged"):
        run.log({"word": "x"})
    run.finish()


def test_a_step_that_is_left_out_goes_on_from_the_last(tmp_path):
    with begin(tmp_path) as run:
        run.log({"x": 0.0})
        run.log({"x": 1.0})
        run.log({"x": 2.0}, step=10)
        run.log({"x": 3.0})
    assert read(tmp_path).series("x").steps.tolist() == [0, 1, 10, 11]


def test_all_scalars_of_a_call_are_one_event_and_tensorboard_agrees(tmp_path):
    with begin(tmp_path) as run:
        for step in range(50):
            run.log({"a": step * 0.1, "b": -step, "ü/タグ": step**2}, step=step)
    directory = str(run.directory / "logs" / "tensorboard")
    accumulator = event_accumulator.EventAccumulator(directory, size_guidance={"scalars": 0}).Reload()
    ours = only(pb.read(directory))
    assert set(accumulator.Tags()["scalars"]) == {"a", "b", "ü/タグ"} == set(ours.tags("scalar"))
    for tag in ours.tags("scalar"):
        series = ours.series(tag)
        assert [(e.step, e.wall_time, e.value) for e in accumulator.Scalars(tag)] == list(
            zip(series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True)
        )
    assert ours.files[0].log.events == 51


# ---- many threads, forks, restarts


def test_threads_may_share_a_run(tmp_path):
    with begin(tmp_path) as run:

        def work(worker):
            for step in range(500):
                run.log({f"t{worker}": float(step), "shared": float(worker)}, step=step)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    got = read(tmp_path)
    assert got.notes() == []
    assert len(got.series("shared")) == 4000
    for n in range(8):
        assert points(got.series(f"t{n}")) == [(step, float(step)) for step in range(500)]


def test_a_value_that_logs_while_it_is_converted_is_safe(tmp_path):
    class Chatty:
        def __float__(self):
            run.log({"inner": 1.0}, step=0)
            return 2.0

    with begin(tmp_path) as run:
        run.log({"before": 0.0, "outer": Chatty(), "after": 3.0}, step=0)
    got = read(tmp_path)
    assert {tag: points(got.series(tag)) for tag in got.tags()} == {
        "inner": [(0, 1.0)],
        "before": [(0, 0.0)],
        "outer": [(0, 2.0)],
        "after": [(0, 3.0)],
    }


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_writes_a_file_of_its_own_and_spoils_nothing(tmp_path):
    with begin(tmp_path) as run:
        run.log({"parent": 1.0}, step=0)
        child = os.fork()
        if child == 0:
            try:
                run.log({"child": 5.0}, step=7)
                run.flush()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        run.log({"parent": 2.0}, step=1)
    got = read(tmp_path)
    assert got.notes() == []
    assert len(got.files) == 2
    assert points(got.series("parent")) == [(0, 1.0), (1, 2.0)]
    assert points(got.series("child")) == [(7, 5.0)]
    assert json.loads((run.directory / "run.json").read_text())["status"] == "finished"


def test_data_loader_workers_leave_no_trace(tmp_path):
    with begin(tmp_path) as run:
        data = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2, num_workers=2)
        for step, batch in enumerate(data):
            run.log({"mean": batch.mean()}, step=step)
    got = read(tmp_path)
    assert len(got.files) == 1
    assert len(got.series("mean")) == 4
    assert json.loads((run.directory / "run.json").read_text())["status"] == "finished"


def test_a_resumed_run_goes_on_in_one_timeline(tmp_path):
    with begin(tmp_path, config={"lr": 1}) as first:
        for step in range(100):
            first.log({"loss": 1.0}, step=step)
    with begin(tmp_path, resume="latest", config={"seed": 2}) as second:
        assert second.directory == first.directory
        for step in range(80, 120):
            second.log({"loss": 2.0}, step=step)
    got = read(tmp_path)
    assert points(got.series("loss")) == [(s, 1.0 if s < 80 else 2.0) for s in range(120)]
    everything = got.series("loss", orphans=True)
    assert everything.orphaned.sum() == 20
    assert [restart.step for restart in got.restarts()] == [80]
    told = json.loads((first.directory / "run.json").read_text())
    assert told["config"] == {"lr": 1, "seed": 2}
    assert len(told["resumed"]) == 1


def test_telemetry_and_media_of_a_resumed_run_do_not_say_where_it_resumes(tmp_path):
    with begin(tmp_path) as first:
        for step in range(100):
            first.log({"loss": 1.0}, step=step)
    with begin(tmp_path, resume="latest", settings={"telemetry_secs": 0.01}) as second:
        time.sleep(0.2)
        second.hparams({"lr": 0.1})
        second.histogram("w", np.ones(3), step=80)
        second.flush()
        second.log({"loss": 2.0}, step=80)
    got = read(tmp_path)
    assert [restart.step for restart in got.restarts()] == [80]
    assert len(got.series("loss")) == 81
    assert [histogram.step for histogram in got.histograms("w")] == [80]


def test_resuming_by_id_and_a_run_that_is_not_there(tmp_path):
    with pytest.raises(NoRunToResume, match="no run to resume yet"):
        begin(tmp_path, resume="latest")
    with begin(tmp_path, run_id="mine"):
        pass
    with begin(tmp_path, resume="mine") as run:
        assert run.id == "mine"
    with pytest.raises(NoRunToResume, match="Did you mean 'mine'"):
        begin(tmp_path, resume="min")


# ---- the end of a process

SCRIPT = """
import sys, time
import pulseboard as pb
run = pb.init(dir=sys.argv[1], run_id="r", telemetry_secs=0)
run.log({"x": 1.0}, step=0)
"""


def run_script(tmp_path, ending, **named):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + ending, str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        timeout=60,
        **named,
    )


@pytest.mark.parametrize(
    ("ending", "status", "code"),
    [
        ("", "finished", 0),
        ("raise ValueError('boom')", "failed", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", "killed", -15),
    ],
)
def test_however_a_process_ends_the_run_says_so(tmp_path, ending, status, code):
    done = run_script(tmp_path, ending)
    assert done.returncode == code, done.stderr
    assert json.loads((tmp_path / "runs" / "r" / "run.json").read_text())["status"] == status
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]


def test_a_job_that_handles_sigterm_itself_keeps_doing_so(tmp_path):
    script = "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: print('mine'))\n" + SCRIPT
    script += "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(0.1)\n"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "runs")], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "mine\n")


def test_finishing_twice_and_logging_after_are_harmless(tmp_path):
    run = begin(tmp_path, settings={"strict": False})
    run.log({"x": 1.0}, step=0)
    run.finish()
    run.finish()
    run.log({"x": 2.0}, step=1)
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]


# ---- ranks


def test_the_rank_comes_from_the_launcher():
    assert current_rank({}) == Rank(0, 1, 0)
    assert current_rank({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}) == Rank(3, 8, 1)
    assert current_rank({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}) == Rank(2, 4, 0)
    assert current_rank({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1"}) == Rank(1, 2, 1)
    assert current_rank({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}) == Rank(0, 1, 0)
    assert current_rank({"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}) == Rank(1, 2, 1)
    assert current_rank({"LOCAL_RANK": "0"}) == Rank(0, 1, 0)


RANKED = """
import sys, time
import torch.distributed as dist
import pulseboard as pb
dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    time.sleep(float(sys.argv[2]))
run = pb.init(dir=sys.argv[1], telemetry_secs=0, strict=True)
for step in range(20):
    run.log({"train/loss": 1.0 / (step + 1)}, step=step)
    run.log({"rank/step_time": float(rank)}, step=step, per_rank=True)
dist.barrier()
run.finish()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("processes", "late_secs"), [(2, 0.0), (4, 1.0)])
def test_under_torchrun_there_is_one_run_and_a_file_a_rank(tmp_path, processes, late_secs):
    script = tmp_path / "train.py"
    script.write_text(RANKED)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    done = subprocess.run(
        [*launch, str(script), str(tmp_path / "runs"), str(late_secs)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    runs = [path for path in (tmp_path / "runs").iterdir() if not path.name.startswith(".")]
    assert len(runs) == 1
    assert json.loads((runs[0] / "run.json").read_text())["world_size"] == processes
    log = pb.read(tmp_path / "runs")
    run = only(log)
    assert points(run.series("train/loss"))[0] == (0, 1.0)
    assert len(run.series("train/loss")) == 20
    assert sorted(run.ranks) == list(range(processes))
    for rank in range(processes):
        assert run.series("rank/step_time", rank=rank).values.tolist() == [float(rank)] * 20
        assert log[f"{run.name}/ranks/{rank}"] is run.ranks[rank] if rank else True


def test_another_rank_that_says_nothing_leaves_no_file(tmp_path):
    other = Run(Settings(runs_dir=str(tmp_path / "runs"), telemetry_secs=0), rank=Rank(1, 2, 1))
    other.log({"train/loss": 1.0}, step=0)
    other.finish()
    assert not (tmp_path / "runs").exists()


# ---- sinks


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
    told = capsys.readouterr().err
    assert "sink failing stopped at step 7: No space left on device." in told
    assert told.count("failing") == 1


def test_an_unknown_sink_is_told_and_stops_nothing(tmp_path, capsys):
    with begin(tmp_path, report_to=["tensorboard", "wandbb"], settings={"strict": False}) as run:
        run.log({"x": 1.0}, step=0)
    assert "There is no sink 'wandbb'. Known:" in capsys.readouterr().err
    assert len(read(tmp_path).series("x")) == 1


def test_the_heartbeat_beats(tmp_path, monkeypatch):
    from pulseboard.record import run as run_module

    monkeypatch.setattr(run_module, "_HEARTBEAT_SECS", 0.0)
    with begin(tmp_path) as run:
        first = json.loads((run.directory / "run.json").read_text())["heartbeat"]
        deadline = time.monotonic() + 10
        while json.loads((run.directory / "run.json").read_text())["heartbeat"] == first:
            assert time.monotonic() < deadline, "no heartbeat within 10 s"
            time.sleep(0.05)


# ---- telemetry


def test_telemetry_is_logged_under_its_documented_tags(tmp_path):
    with begin(tmp_path, settings={"telemetry_secs": 0.05}) as run:
        run.log({"x": 1.0}, step=7)
        deadline = time.monotonic() + 20
        while "memory/ram_main_process_gb" not in read(tmp_path).tags():
            assert time.monotonic() < deadline, "no telemetry within 20 s"
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
        run._record_telemetry({"log": "gpu", "id": 1, "power": 350000, "temperature": 72, "dram_free": 2**30})
    got = read(tmp_path)
    assert points(got.series("gpu/1/power")) == [(3, 350000.0)]
    assert points(got.series("gpu/1/dram_free")) == [(3, 1024.0)]
    assert (taken[0]["log"], taken[0]["step"], taken[0]["power"]) == ("gpu", 3, 350000)


def test_a_run_that_is_resumed_within_the_same_second_is_read_in_its_order(tmp_path):
    for resume in (None, "latest", "latest"):
        run = pb.init(
            dir=tmp_path, run_id="a" if resume is None else None, resume=resume, strict=True, telemetry_secs=0
        )
        run.log({"loss": 1.0}, step=run.last_step + 1)
        run.finish()
    names = sorted(path.name for path in tmp_path.rglob("*tfevents*"))
    times = [int(name.split(".")[3]) for name in names]
    assert len(set(times)) == 3
