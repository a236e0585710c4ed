"""`pulseboard run`: a training that knows nothing of us is recorded, and is not changed by it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pulseboard as pb
from pulseboard.launch.output import KeptOutput, PrintedMetrics, pump

SOURCE = str(Path(pb.__file__).parents[1])
TRAINING = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(64, 8)
y = x[:, :1] * 2
for step in range(60):
    batch = torch.randint(0, 64, (16,))
    loss = ((model(x[batch]) - y[batch]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item()!r}")
sys.exit(3)
"""


def environment(**more):
    path = os.pathsep.join([SOURCE, *filter(None, [more.pop("first", "")])])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def pulseboard_run(directory, *command, env=None, options=()):
    return subprocess.run(
        [sys.executable, "-m", "pulseboard", "run", *options, "--", *map(str, command)],
        cwd=directory,
        capture_output=True,
        env=env or environment(),
    )


def recorded(directory):
    """The run and its run.json."""
    (run,) = pb.read(directory / "runs").values()
    (path,) = (directory / "runs").glob("*/run.json")
    return run, json.loads(path.read_text(encoding="utf-8"))


def test_a_torch_training_is_recorded_and_gives_the_same_losses_bit_for_bit(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, env=environment())
    done = pulseboard_run(tmp_path, sys.executable, script)
    assert (done.returncode, plain.returncode) == (3, 3)
    assert done.stdout == plain.stdout
    run, stated = recorded(tmp_path)
    losses = [float(line.split()[-1]) for line in plain.stdout.decode().splitlines()]
    assert run.series("loss").values.tolist() == losses
    assert run.series("loss").steps.tolist() == list(range(60))
    watched = set(run.tags("scalar"))
    assert {"train/gradients/global_norm", "train/update_ratio"} & watched, watched
    assert any(tag.startswith("memory/") for tag in watched)
    assert (stated["status"], stated["exit_code"]) == ("failed", 3)
    assert "train.py" in stated["config"]["command"]
    assert (Path(run.directory).parents[1] / "training.json").exists()
    report = done.stderr.decode()
    assert "pulseboard: recorded in " in report
    assert " checks ran." in report


def test_a_training_that_is_killed_is_recorded_up_to_its_end(tmp_path):
    lines = "".join(f"step {i} loss {1 / (i + 1):.4f}\\n" for i in range(20))
    code = f"import os, sys; sys.stdout.write('{lines}'); sys.stdout.flush(); os.kill(os.getpid(), 9)"
    done = pulseboard_run(tmp_path, sys.executable, "-c", code, options=["--no-diagnosis"])
    assert done.returncode == 137
    run, stated = recorded(tmp_path)
    assert (stated["status"], stated["exit_code"]) == ("killed", 137)
    assert len(run.series("loss")) == 20


def test_a_training_without_torch_has_telemetry_too(tmp_path):
    code = (
        "import time; held = bytearray(200 << 20)\n"
        "for i in range(30): print(f'step {i} loss {1 / (i + 1)}'); time.sleep(0.1)"
    )
    options = ["--no-diagnosis", "--telemetry", "1"]
    assert pulseboard_run(tmp_path, sys.executable, "-c", code, options=options).returncode == 0
    run, _ = recorded(tmp_path)
    assert len(run.series("loss")) == 30
    assert {"system/cpu", "system/ram_used", "system/disk_free"} <= set(run.tags("scalar"))
    memory_gb = run.series("memory/ram_main_process_gb").values
    assert 0.2 < memory_gb.max() < 2  # of the training, not of the process that started it
    assert "system/children_ram" not in run.tags("scalar")


def test_any_command_works_and_its_output_is_passed_through(tmp_path):
    done = pulseboard_run(tmp_path, "sh", "-c", "echo out; echo err >&2", options=["--no-diagnosis"])
    assert (done.returncode, done.stdout) == (0, b"out\n")
    assert done.stderr.startswith(b"err\n")
    assert recorded_status(tmp_path) == "finished"


def recorded_status(directory):
    (path,) = (directory / "runs").glob("*/run.json")
    return json.loads(path.read_text(encoding="utf-8"))["status"]


def test_a_process_that_is_left_behind_does_not_hold_up_the_end(tmp_path):
    began = time.monotonic()
    done = pulseboard_run(tmp_path, "sh", "-c", "sleep 600 & echo started", options=["--no-diagnosis"])
    assert (done.returncode, done.stdout) == (0, b"started\n")
    assert time.monotonic() - began < 300


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], []])
def test_a_command_that_cannot_start_is_an_error_and_records_nothing(tmp_path, command):
    done = pulseboard_run(tmp_path, *command)
    assert done.returncode == 2
    assert done.stderr.startswith(b"pulseboard: ")
    assert not (tmp_path / "runs").exists()


def test_the_sitecustomize_of_the_environment_still_runs(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import builtins; builtins.own_was_run = True\n")
    env = environment(first=str(tmp_path / "own"))
    done = pulseboard_run(tmp_path, sys.executable, "-c", "print(own_was_run)", env=env, options=["--no-diagnosis"])
    assert done.stdout == b"True\n"


def test_output_of_100_megabytes_is_shown_whole_and_kept_up_to_the_limit(tmp_path):
    code = "import sys\nfor _ in range(1600): sys.stdout.write(('x' * 63 + '\\n') * 1024)"
    shown = tmp_path / "shown"
    kept = KeptOutput(tmp_path / "logs" / "output.raw", max_bytes=1 << 20)
    with shown.open("wb") as show, subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        pump(process.stdout, show, kept)
    kept.close()
    assert shown.stat().st_size == 1600 * 65536
    assert kept.path.stat().st_size <= 1 << 20
    assert kept.path.stat().st_size + kept.left_out_bytes == 1600 * 65536


def test_metrics_are_found_while_the_output_grows(tmp_path):
    kept = KeptOutput(tmp_path / "logs" / "output.raw")
    metrics = PrintedMetrics(kept.path)
    kept.add(b"using cpu\n" + b"".join(b"step %d loss %.3f\n" % (i, 1 / (i + 1)) for i in range(30)))
    first = dict(metrics.poll())
    kept.add(b"step 30 loss 0.250\n")
    later = dict(metrics.poll())
    metrics.close()
    kept.close()
    assert first[1] == {"loss": 0.5}
    assert len(first) == 30
    assert later == {30: {"loss": 0.25}}
