"""Every fault of the language models runs in the real loop, and breaks what it promises, not before its onset."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import gpt
import moe
import numpy as np
import pytest
from zoo.fault import all_faults
from zoo.faults import system

import pulseboard as pb

ROOT = Path(__file__).parents[2]
STEPS, ONSET = 10, 5
SMALL = (
    "--n_layer 2 --n_head 2 --n_embd 16 --block_size 16 --batch_size 8 --max_steps 10 --warmup_steps 3 --eval_freq 5 "
    "--eval_iters 2 --watch_every 1 --histogram-interval 0 --checkpoint_freq 0 --telemetry_secs 0"
).split()
TRAINERS = {"gpt": (gpt, ["--sample_length", "0", "--quiet"]), "moe": (moe, ["--report_to", "tensorboard"])}
CAUSES = """
lr-too-high lr-too-low no-warmup scheduler-bug bad-init bad-batch label-noise labels-misaligned target-leak
too-little-data data-leak data-order-bug data-shift repeated-batches frozen-weights detached-graph
optimizer-not-stepping zero-grad-missing accumulation-unscaled dead-relu clip-too-tight no-clipping
weight-decay-too-high precision-underflow precision-overflow no-stop-gradient ema-momentum-too-high
ema-momentum-too-low masking-bug loss-weights-wrong missing-aux-loss router-collapse capacity-too-small
dataloader-bottleneck checkpoint-in-loop contention memory-leak resume-bug eval-bug rank-desync straggler
hardware-fault killed
""".split()
FINDINGS = """
loss-nan gradient-nan nan-masked loss-zero loss-scale-collapse steps-skipped impossible-value batch-outlier loss-spike
loss-level-shift loss-diverged loss-drift-up loss-flat loss-at-ignorance loss-at-marginal initial-loss-off
loss-too-good loss-plateau loss-oscillating epoch-staircase loss-noisy gradient-exploding gradient-vanishing
gradient-imbalance gradient-zeros weights-frozen update-too-small update-too-large weights-exploding weights-shrinking
clipping-excess gradient-scale-off lr-zero lr-jump lr-never-decays lr-no-warmup lr-horizon-off overfitting
val-gap-from-start val-below-train eval-frozen eval-noisy eval-nondeterministic metric-disagreement
best-checkpoint-missed representation-collapse ema-momentum-stuck ema-no-lag relative-loss-rising moe-imbalance
moe-dead-experts moe-router-collapse moe-zloss-high moe-tokens-dropped moe-aux-dominates throughput-drop
step-time-periodic data-stall rank-straggler rank-desync memory-growth oom-risk run-stalled gpu-fault gpu-underused
batches-repeated data-shift resume-discontinuity token-mix gradient-spike dead-units ema-divergence
ema-magnitude-mismatch mask-ratio-shift mask-ratio-range prediction-stagnant prediction-poor hierarchy-imbalance
target-gradient quantile-stuck eval-at-chance gpu-throttled sol-low restart-overlap out-of-expected-range
""".split()


@pytest.fixture(scope="session")
def trained(runs, corpus):
    """A training by base and fault, run once: the run read back, and its parts at the end."""
    trainings = {}

    def train(base, fault=None, *flags):
        if (base, fault, flags) not in trainings:
            trainer, extra_flags = TRAINERS[base]
            name = f"{base}-{fault or 'healthy'}-{len(trainings)}"
            argv = [*SMALL, *extra_flags, "--text", corpus, "--tensorboard_dir", str(runs), "--run_name", name, *flags]
            parts = trainer.main([*argv, *(["--fault", fault] if fault else [])])
            trainings[base, fault, flags] = (RecordedRun(pb.read(runs)[name], runs / name, base), parts)
        return trainings[base, fault, flags]

    return train


class RecordedRun:
    """The values of a run, by short names for tags that differ between trainers."""

    def __init__(self, run, directory, base):
        self.run, self.directory, self.base = run, directory, base

    def __getitem__(self, tag):
        names = {"loss": ("Loss/train", "train/loss"), "val": ("Loss/validation", "eval/loss")}
        names |= {"lr": ("Learning_Rate/lr", "train/lr"), "batch": ("Data/batch_checksum", "data/batch_checksum")}
        names |= {"ms": ("Performance/step_time_ms", "train/duration_ms")}
        own_tag = names.get(tag, (tag, tag))[self.base == "moe"]
        return self.run.series(own_tag).values

    @property
    def config(self):
        return json.loads((self.directory / "run.json").read_text())["config"]


NORM, UPDATE = "train/gradient/global_norm_before_clip", "train/update_ratio"
ZEROS, NONE = "train/gradient_flow/zero_share", "train/gradient_flow/none_share"
SIZE = "train/total_param_norm"


def same_until_onset(faulty, healthy, tag="loss"):
    return faulty[tag][:ONSET].tolist() == healthy[tag][:ONSET].tolist()


# The effect of each fault on the curves of ten steps: (faulty, healthy, parts) -> whether it is there.
EFFECTS = {
    "lr-too-high": lambda f, h, p: np.allclose(f["lr"], 30 * h["lr"]) and f[SIZE][-1] > 1.2 * h[SIZE][-1],
    "lr-too-high-sgd": lambda f, h, p: f.config["optimizer"] == "sgd" and f.config["watch"]["optimizer"] == "SGD",
    "lr-too-low": lambda f, h, p: np.allclose(f["lr"], h["lr"] / 1000) and f[UPDATE].max() < 1e-4,
    "optimizer-not-stepping": lambda f, h, p: f["val"][0] == f["val"][-1] and (f[NORM] > 0).all(),
    "wrong-parameters": lambda f, h, p: f["val"][0] == f["val"][-1] and f[UPDATE].max() == 0 < f[NORM].min(),
    "zero-grad-missing": lambda f, h, p: f[NORM][0] == h[NORM][0] and f[NORM][1] > h[NORM][1] + 0.5,
    "detached-backbone": lambda f, h, p: f[NONE].min() > 0.9 and h[NONE].max() == 0,
    "frozen-layers": lambda f, h, p: f.config["trainable_parameters"] < f.config["parameters"] / 2,
    "frozen-backbone-declared": lambda f, h, p: f.config["frozen_on_purpose"] and f.config["frozen"],
    "dead-relu": lambda f, h, p: f[ZEROS].min() > 0.5 > h[ZEROS].max(),
    "init-too-large": lambda f, h, p: f["loss"][0] > 1.5 * h["loss"][0],
    "init-zero": lambda f, h, p: np.allclose(f["loss"], np.log(f.config["vocab_size"])) and f[NORM].max() == 0,
    "weight-decay-too-high": lambda f, h, p: f[SIZE][-1] < 0.98 * h[SIZE][-1],
    "clip-too-tight-sgd": lambda f, h, p: f["train/gradient/global_norm_after_clip"].max() < 1.1e-3,
    "clip-tight-adam": lambda f, h, p: f["train/gradient/global_norm_after_clip"].max() < 1.1e-3,
    "clip-most-steps": lambda f, h, p: f["train/gradient/was_clipped"].mean() >= 0.8,
    "no-clipping": lambda f, h, p: f["train/gradient/was_clipped"].max() == 0,
    "accumulation-unscaled-adam": lambda f, h, p: np.isclose(f[NORM][0], 8 * h[NORM][0], rtol=1e-3),
    "accumulation-unscaled-sgd": lambda f, h, p: np.isclose(f[NORM][0], 8 * h[NORM][0], rtol=1e-3),
    "sum-not-mean": lambda f, h, p: np.isclose(f["loss"][0], 8 * h["loss"][0], rtol=0.01),
    "no-warmup": lambda f, h, p: f["lr"][0] == f["lr"].max() and np.isclose(f["lr"].max(), 5 * h["lr"].max()),
    "lr-rising": lambda f, h, p: (np.diff(f["lr"]) > 0).all(),
    "schedule-restart": lambda f, h, p: same_until_onset(f, h) and f["lr"][ONSET] == h["lr"][0],
    "lr-zero": lambda f, h, p: f["lr"].max() == 0 and f[UPDATE].max() == 0,
    "lr-zero-later": lambda f, h, p: same_until_onset(f, h) and f["lr"][ONSET:].max() == 0 < f["lr"][:ONSET].min(),
    "lr-horizon-short": lambda f, h, p: f["lr"][ONSET] == h["lr"].min() and f["lr"][ONSET:].max() == h["lr"].min(),
    "warm-restarts-declared": lambda f, h, p: len(f.config["declared_changes"]) == 2 and f["lr"][6] > f["lr"][5],
    "batch-size-schedule": lambda f, h, p: rows(p, 0) == 4 and rows(p, ONSET) == 8,
    "sequence-length-schedule": lambda f, h, p: p.batch(0)[0].shape == (8, 8) and p.batch(ONSET)[0].shape == (8, 16),
    "noisy-small-batch": lambda f, h, p: rows(p, 0) == 4 and np.allclose(f["lr"], h["lr"] / 3),
    "labels-shuffled": lambda f, h, p: targets_are_shuffled(batch_of(p), original_batch(p)),
    "label-noise": lambda f, h, p: 0.1 < np.mean(np.array(batch_of(p)[1]) != np.array(original_batch(p)[1])) < 0.35,
    "target-is-input": lambda f, h, p: batch_of(p)[0] == batch_of(p)[1],
    "label-offset": lambda f, h, p: (p.batch(0)[1][:, :-2] == p.batch(0)[0][:, 2:]).all(),
    "tiny-data": lambda f, h, p: len(p.extra["windows"].tokens) == 600,
    "repeated-batch": lambda f, h, p: len(set(f["batch"])) == 1 < len(set(h["batch"])),
    "data-order": lambda f, h, p: (p.batch(0)[0][1, :-1] == p.batch(0)[0][0, 1:]).all(),
    "data-shift": lambda f, h, p: same_until_onset(f, h) and f["loss"][ONSET] > h["loss"][ONSET],
    "nan-batch": lambda f, h, p: same_until_onset(f, h) and np.isnan(f["loss"][ONSET:]).all(),
    "val-remapped": lambda f, h, p: same_until_onset(f, h) and f["val"][-1] > h["val"][-1],
    "val-leakage": lambda f, h, p: p.extra["held_out"].tokens is p.extra["windows"].tokens,
    "val-leakage-tiny-data": lambda f, h, p: len(p.extra["held_out"].tokens) == 600,
    "eval-in-train-mode": lambda f, h, p: f["probe/eval_twice"].max() > 0 == h["probe/eval_twice"].max(),
    "eval-frozen": lambda f, h, p: len(set(f["val"])) == 1 and f["loss"].tolist() == h["loss"].tolist(),
    "nan-masked": lambda f, h, p: (f["loss"][ONSET:] == 0).all() and np.isnan(f[NORM][ONSET:]).all(),
    "fp16-underflow": lambda f, h, p: np.median(f[ZEROS]) > np.median(h[ZEROS]) + 0.2,
    "loss-scale-collapse": lambda f, h, p: f["amp/loss_scale"][-1] == 2.0**15 and f["amp/loss_scale"][0] == 2.0**16,
    "bit-flip": lambda f, h, p: same_until_onset(f, h) and f[NORM][ONSET] > 100 * h[NORM][ONSET],
    "loader-stall": lambda f, h, p: f["ms"][ONSET:].min() >= 50,
    "memory-leak": lambda f, h, p: sum(leaked.nbytes for leaked in p.extra["kept"]) == STEPS << 20,
    "checkpoint-in-loop": lambda f, h, p: p.extra["steps_made"] == STEPS,
    "resume-without-optimizer": lambda f, h, p: True,  # tested below, after a real kill
    "resume": lambda f, h, p: f["loss"].tolist() == h["loss"].tolist(),
    "router-collapse": lambda f, h, p: f["moe/aux_loss"].max() < 0 and p.extra["router"].aux_weight < 0,
    "aux-loss-missing": lambda f, h, p: f["moe/aux_loss"].max() == 0 < h["moe/aux_loss"].min(),
    "capacity-too-small": lambda f, h, p: f["moe/drop_rate"].min() >= 0.5 > h["moe/drop_rate"].max(),
    "mild-imbalance": lambda f, h, p: 0 < f["moe/aux_loss"].max() < h["moe/aux_loss"].min(),
}
SEPARATE = {"killed", "hang", "straggler", "rank-desync", "all-reduce-loss"}  # tested separately
FILES = {"optimization", "schedule", "data", "numerics", "router", "system", "ranks"}


def targets_are_shuffled(batch, original):
    return sorted(batch[1]) == sorted(original[1]) and batch != original


def rows(parts, step):
    return len(parts.batch(step)[0])


def batch_of(parts):
    return tuple(part.flatten().tolist() for part in parts.batch(0))


def original_batch(parts):
    """The first batch of the unchanged data."""
    return tuple(part.flatten().tolist() for part in parts.extra["windows"].batch(0))


def text_faults():
    return {n: f for n, f in all_faults().items() if f.inject.__module__.removeprefix("zoo.faults.") in FILES}


# ---- tests


@pytest.mark.parametrize("name", sorted(text_faults().keys() - SEPARATE))
def test_a_fault_has_its_effect(name, trained):
    base = next(base for base in text_faults()[name].bases if base in TRAINERS)
    healthy, _ = trained(base)
    faulty, parts = trained(base, name)
    assert len(faulty["lr"]) == STEPS
    assert EFFECTS[name](faulty, healthy, parts)


@pytest.mark.parametrize("name", sorted(n for n, f in text_faults().items() if "moe" in f.bases and n not in SEPARATE))
def test_a_fault_of_both_trainers_runs_in_the_mixture_of_experts_too(name, trained):
    faulty, _ = trained("moe", name, "--max_steps", "4", "--n_layer", "1", "--n_experts", "2", "--watch_every", "4")
    assert len(faulty["lr"]) == 4


def test_strength_and_onset_are_applied(trained):
    healthy, _ = trained("gpt")
    twice, _ = trained("gpt", "lr-too-high", "--fault-strength", "2")
    assert np.allclose(twice["lr"], 60 * healthy["lr"])
    late, _ = trained("gpt", "nan-batch", "--fault-onset", "0.8")
    assert np.isnan(late["loss"]).tolist() == [False] * 8 + [True] * 2


def sleeps(name, monkeypatch, *, strength):
    """(step, seconds) of each sleep of a fault that only delays."""
    found, current = [], [0]
    monkeypatch.setattr(system, "time", SimpleNamespace(sleep=lambda secs: found.append((current[0], secs))))
    args = SimpleNamespace(fault_strength=strength, fault_onset=0.5)
    parts = SimpleNamespace(args=args, steps=STEPS, first_step=0, batch=lambda step: step, extra={})
    all_faults()[name].inject(parts)
    for step in range(STEPS):
        current[0] = step
        assert parts.batch(step) == step
    return found


def test_a_hang_is_one_pause_at_the_onset(monkeypatch):
    assert sleeps("hang", monkeypatch, strength=0.5) == [(ONSET, 45.0)]


def test_a_hang_pauses_a_real_training(trained):
    run, _ = trained("gpt", "hang", "--fault-strength", "0.005")
    assert np.diff(run.run.series("Loss/train").wall_times)[ONSET - 1] >= 0.45


def test_a_stalled_loader_delays_every_batch_from_the_onset_on(monkeypatch):
    assert sleeps("loader-stall", monkeypatch, strength=2.0) == [(step, 0.1) for step in range(ONSET, STEPS)]


def test_a_resume_that_forgets_the_optimizer_restarts_the_schedule(runs, corpus):
    """After a real kill: `killed`, followed by a fault that needs it."""
    flags = [*SMALL, "--sample_length", "0", "--quiet", "--checkpoint_freq", "4", "--text", corpus]
    command = [sys.executable, str(ROOT / "trainers" / "gpt.py"), *flags, "--tensorboard_dir", str(runs / "after")]
    assert subprocess.run([*command, "--run_name", "a", "--fault", "killed"], check=False).returncode == -9
    gpt.main(["--tensorboard_dir", str(runs / "after"), "--resume", "latest", "--fault", "resume-without-optimizer"])
    lr = pb.read(runs / "after")["a"].series("Learning_Rate/lr")
    assert lr.steps.tolist() == list(range(STEPS))
    assert lr.values[4:8].tolist() == lr.values[:4].tolist()


# ---- declarations


def test_every_fault_names_known_causes_and_findings():
    for name, fault in all_faults().items():
        assert {fault.cause, *fault.equivalent} - {""} <= set(CAUSES), name
        assert set(fault.accepted) <= set(FINDINGS), name
        assert fault.cause not in fault.equivalent, name
        assert bool(fault.accepted) != fault.decoy, name
        assert fault.onset in ("start", "middle"), name
        assert fault.visible in ("L0", "L1", "L2", "ranks", "router", "system", "no"), name
        assert fault.inject.__doc__, name


def test_every_fault_of_these_files_is_checked():
    assert EFFECTS.keys() | SEPARATE == text_faults().keys()


def test_an_unknown_fault_lists_the_known_ones(runs):
    with pytest.raises(SystemExit, match=r"no fault 'lr-to-high' for gpt\. Choose from: .*lr-too-high"):
        gpt.main(["--fault", "lr-to-high", "--tensorboard_dir", str(runs / "none")])
    assert not (runs / "none").exists()
