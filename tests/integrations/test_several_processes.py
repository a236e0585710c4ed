"""Trainings in two processes, for each framework that supports it."""

import json
from pathlib import Path

import pytest
from ranks import run_ranks, torchrun

import pulseboard as pb

TESTS = Path(__file__).parents[1]
# All in the same two processes: starting them takes far longer than training.
SCRIPT = """
import gc, os, sys
import pytorch_lightning as lightning
from pulseboard.integrations.lightning import PulseboardLogger
assert issubclass(PulseboardLogger, lightning.loggers.Logger)
assert "lightning" not in sys.modules, "only the package that the job uses should be loaded"
from pulseboard.integrations.accelerate import PulseboardTracker
from pulseboard.integrations.transformers import PulseboardCallback
sys.path.insert(0, sys.argv[2])
from integrations.small_trainings import (
    lightning_module, lightning_trainer, loader, train_with_accelerate, transformers_trainer
)
settings = {"dir": sys.argv[1], "telemetry_secs": 0, "strict": True}

logger = PulseboardLogger(run_id="lightning", **settings)
trainer = lightning_trainer(lightning, logger, devices=2, strategy="ddp", enable_checkpointing=True)
trainer.fit(lightning_module(lightning), loader(), loader())
print(trainer.global_rank, type(logger.experiment).__name__, trainer.checkpoint_callback.dirpath, flush=True)
logger.finalize("success")  # reading `experiment` has reopened the run

transformers_trainer(PulseboardCallback(run_id="transformers", **settings), ddp_backend="gloo").train()

del trainer
gc.collect()  # their DDP modules, before the process group ends; small_trainings.py explains why

tracker = PulseboardTracker(run_id="accelerate", **settings)
train_with_accelerate(tracker)
print(type(tracker.tracker).__name__, flush=True)
tracker.finish()
os._exit(0)
"""


@pytest.mark.parametrize("launch", [run_ranks, pytest.param(torchrun, marks=pytest.mark.long)])
def test_only_the_first_process_creates_a_run(settings, tmp_path, launch):
    runs, script = tmp_path / "runs", tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = launch(script, runs, TESTS, processes=2)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("{")]
    assert {
        f"0 ActiveRun {runs}/lightning/checkpoints",
        f"1 _DummyExperiment {runs}/lightning/checkpoints",
        "ActiveRun",
        "NoneType",
    } <= set(lines)
    log = pb.read(runs)
    assert {name: len(run.series("train/loss")) for name, run in log.items()} == {
        "lightning": 4,
        "transformers": 6,
        "accelerate": 5,
    }
    for name in log:
        run_json = json.loads((runs / name / "run.json").read_text())
        assert (run_json["status"], run_json["world_size"]) == ("finished", 2)
