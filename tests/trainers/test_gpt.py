"""trainers/gpt.py logs the documented tags, learns, and resumes after a crash as if nothing had happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gpt
import numpy as np
import pytest
import torch
from checkpoints import load_checkpoint
from hellaswag import load_hellaswag
from ranks import run_ranks, torchrun
from reference import accumulate

import pulseboard as pb

pytestmark = pytest.mark.early

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
TRAINER = str(ROOT / "trainers" / "gpt.py")
SMALL = (
    "--n_layer 2 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4 --max_steps 12 --warmup_steps 3 --eval_freq 6 "
    "--eval_iters 2 --watch_every 3 --histogram-interval 6 --sample_length 8 --checkpoint_freq 0 --telemetry_secs 0 "
    "--quiet"
).split()
# From the two guides.
TAGS_UPPER = """Loss/train Loss/validation Learning_Rate/lr Gradient/norm Performance/step_time_ms
Performance/tokens_per_sec Training/epoch Evaluation/hellaswag_accuracy""".split()
TAGS_LOWER = "train/loss eval/train_loss eval/val_loss eval/learning_rate".split()
DISTRIBUTIONS = """transformer.h.0.attn.c_attn.weight transformer.h.0.attn.c_attn.bias
transformer.h.0.mlp.c_fc.weight""".split()


def losses(runs, name, tag="Loss/train"):
    return pb.read(runs)[name].series(tag)


@pytest.fixture(scope="session")
def train(runs, corpus):
    """Train in this process; later flags override earlier ones."""

    def trained(name, *flags):
        gpt.main([*SMALL, "--text", corpus, "--tensorboard_dir", str(runs), "--run_name", name, *map(str, flags)])
        return pb.read(runs)[name]

    return trained


@pytest.fixture(scope="session")
def upper(train, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "questions.jsonl"
    path.write_text(json.dumps({"ctx": "The license", "endings": ["is", "was", "grows", "eats"], "label": 0}) + "\n")
    assert len(load_hellaswag(str(path))) == 1
    return train("upper", "--use_tensorboard", "--hellaswag", path)


# ---- tags


def test_every_tag_of_the_monitoring_guide_is_logged(upper):
    assert set(TAGS_UPPER) <= set(upper.tags("scalar"))
    assert len(upper.series("Loss/train")) == 12  # every step
    assert upper.series("Loss/validation").steps.tolist() == [0, 6, 12]
    histograms = set(upper.tags("histogram"))
    assert {f"{kind}/{name}" for kind in ("Parameters", "Gradients") for name in DISTRIBUTIONS} <= histograms
    assert upper.tags("text") == ["Generated_Samples/text"]


def test_every_tag_of_the_visualization_guide_is_logged_in_the_lower_style(train):
    lower = train("lower", "--tags", "lower")
    assert set(TAGS_LOWER) <= set(lower.tags("scalar"))
    assert set(DISTRIBUTIONS) <= set(lower.tags("histogram"))
    assert not [tag for tag in lower.tags("scalar") if tag.startswith("Loss")]


def test_tensorboard_shows_hyperparameters_with_the_loss_to_compare_by(upper, runs):
    accumulator = accumulate(runs / "upper" / "logs" / "tensorboard")
    assert "_hparams_/session_start_info" in accumulator.summary_metadata
    assert [e.step for e in accumulator.Scalars("Loss/validation")] == [0, 6, 12]


def test_measurements_of_the_model_follow_the_requested_cadence(upper):
    assert upper.series("train/update_ratio").steps.tolist() == [0, 3, 6, 9]
    assert len(upper.series("train/gradient_flow/global_norm")) == 12
    assert upper.series("probe/eval_twice").values.tolist() == [0, 0, 0]  # evaluation is deterministic


def test_the_config_has_what_a_diagnosis_needs(upper, runs, corpus):
    config = json.loads((runs / "upper" / "run.json").read_text())["config"]
    text = Path(corpus).read_text()
    assert config["vocab_size"] == len(set(text)) + 1
    assert 2.5 < config["unigram_entropy"] < np.log(config["vocab_size"])
    wanted = {"max_steps": 12, "warmup_steps": 3, "optimizer": "adamw", "grad_clip": 1.0, "dropout": 0.0}
    wanted |= {"batch_size": 4, "block_size": 16, "trainer": "gpt"}
    assert {name: config[name] for name in wanted} == wanted
    assert not [name for name in config if name.startswith("fault")]  # a diagnosis must not read the answer there


def test_a_run_without_a_name_gets_date_number_and_tag(runs, corpus, tmp_path):
    gpt.main([*SMALL, "--max_steps", "2", "--text", corpus, "--tensorboard_dir", str(tmp_path), "--run-tag", "lr-001"])
    (directory,) = (path for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert directory.name.endswith("_001-lr-001")
    assert list((directory / "logs" / "tensorboard").glob("events.out.tfevents.*"))


# ---- learning


def test_a_short_training_beats_character_frequencies(train, runs):
    run = train(
        "learns", "--max_steps", 150, "--n_embd", 32, "--batch_size", 8, "--learning-rate", 1e-2, "--eval_freq", 150
    )
    entropy = json.loads((runs / "learns" / "run.json").read_text())["config"]["unigram_entropy"]
    assert run.series("Loss/validation").values[-1] < entropy - 0.5
    assert run.series("Loss/train").values[-20:].mean() < entropy - 0.5


def test_the_loss_curve_is_the_golden_one(train):
    path = GOLDEN / "gpt_losses.json"
    found = train("golden", "--max_steps", 20, "--n_embd", 32, "--grad_accum", 2).series("Loss/train").values
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(json.dumps([round(float(loss), 6) for loss in found]) + "\n")
    np.testing.assert_allclose(found, json.loads(path.read_text()), atol=1e-3)


def test_micro_batches_add_up_to_the_batch(train, runs):
    whole = train("whole", "--batch_size", 4, "--grad_accum", 1).series("Loss/train").values
    pieces = train("pieces", "--batch_size", 1, "--grad_accum", 4).series("Loss/train").values
    np.testing.assert_allclose(pieces, whole, rtol=1e-4)


def test_sixteen_bits_and_sgd_train_too(train):
    brief = train("brief", "--dtype", "bfloat16", "--optimizer", "sgd").series("Loss/train").values
    assert np.isfinite(brief).all()
    scaled = train("scaled", "--dtype", "float16", "--max_steps", 4)
    assert scaled.series("amp/loss_scale").values.min() >= 1
    assert np.isfinite(scaled.series("Loss/train").values).all()


# ---- resuming

CHECKPOINTS = ("--checkpoint_freq", 4, "--dropout", 0.1)


def test_a_resumed_run_has_the_losses_of_the_uninterrupted_one(train, runs, corpus):
    whole = train("uninterrupted", *CHECKPOINTS).series("Loss/train").values
    command = [
        sys.executable,
        TRAINER,
        *SMALL,
        *map(str, CHECKPOINTS),
        "--text",
        corpus,
        "--tensorboard_dir",
        str(runs),
    ]
    killed = subprocess.run([*command, "--run_name", "killed", "--fault", "killed"], env=one_thread(), check=False)
    assert killed.returncode == -9  # at step 6, after the checkpoint of step 4
    assert losses(runs, "killed").steps.tolist() == [0, 1, 2, 3, 4, 5]

    gpt.main(["--tensorboard_dir", str(runs), "--resume", "latest", "--quiet"])
    resumed = losses(runs, "killed")
    assert resumed.steps.tolist() == list(range(12))
    assert resumed.values.tolist() == whole.tolist()  # bit for bit
    run_json = json.loads((runs / "killed" / "run.json").read_text())
    assert run_json["status"] == "finished"
    assert len(run_json["resumed"]) == 1
    by_tensorboard = accumulate(runs / "killed" / "logs" / "tensorboard").Scalars("Loss/train")
    assert [e.step for e in by_tensorboard] == list(range(12))
    assert [e.value for e in by_tensorboard] == whole.tolist()

    # Under another name, the same checkpoint starts a separate run.
    checkpoint = runs / "killed" / "checkpoints" / "step_00000008.pt"
    gpt.main(["--tensorboard_dir", str(runs), "--resume", str(checkpoint), "--run_name", "branch", "--quiet"])
    assert losses(runs, "branch").steps.tolist() == [8, 9, 10, 11]
    assert losses(runs, "branch").values.tolist() == whole[8:].tolist()
    assert len(losses(runs, "killed")) == 12


def test_latest_is_the_newest_checkpoint_of_the_same_trainer(tmp_path):
    for seconds, (trainer, step) in enumerate([("gpt", 4), ("gpt", 8), ("moe", 99)]):
        path = tmp_path / trainer / "checkpoints" / f"step_{step:08d}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"trainer": trainer, "step": step, "args": {}}, path)
        os.utime(path, (seconds, seconds))
    assert load_checkpoint(tmp_path, "latest", trainer="gpt")["step"] == 8
    assert load_checkpoint(tmp_path, "latest", trainer="moe")["step"] == 99
    with pytest.raises(SystemExit, match=r"only those of other trainers, none of gpt\.py"):
        load_checkpoint(tmp_path, "moe", trainer="gpt")


def test_latest_is_of_the_same_program_but_any_checkpoint_of_the_trainer_can_be_named(tmp_path):
    for seconds, (program, step) in enumerate([("train_improved", 4), ("train", 8)]):
        path = tmp_path / program / "checkpoints" / f"step_{step:08d}.pt"
        path.parent.mkdir(parents=True)
        torch.save({"trainer": "gpt", "step": step, "args": {"program": program}}, path)
        os.utime(path, (seconds, seconds))
    assert load_checkpoint(tmp_path, "latest", trainer="gpt", program="train_improved")["step"] == 4
    assert load_checkpoint(tmp_path, "train", trainer="gpt", program="train_improved")["step"] == 8
    with pytest.raises(SystemExit, match=r"none of gpt\.py"):
        load_checkpoint(tmp_path, "latest", trainer="gpt", program="gpt")


def test_the_newest_checkpoints_are_kept_and_a_missing_one_is_an_error(train, runs, tmp_path):
    train("keeps", "--checkpoint_freq", 2, "--keep_checkpoints", 3)
    names = sorted(path.name for path in (runs / "keeps" / "checkpoints").iterdir())
    assert names == ["step_00000008.pt", "step_00000010.pt", "step_00000012.pt"]
    with pytest.raises(SystemExit, match="No checkpoint to resume from"):
        gpt.main(["--tensorboard_dir", str(tmp_path), "--resume", "latest"])


def one_thread():
    return os.environ | {"OMP_NUM_THREADS": "1"}


# ---- several processes

RANKS = """
import sys
sys.path[:0] = [{trainers!r}, {root!r}]
import gpt, moe, torch
torch.distributed.init_process_group("gloo")
for trainer, name, *fault in {runs!r}:
    flags = ["--fault", *fault] if fault else []
    {{"gpt": gpt, "moe": moe}}[trainer].main([*{flags!r}, "--run_name", name, *flags])
torch.distributed.destroy_process_group()
"""


@pytest.mark.parametrize("launch", [run_ranks, pytest.param(torchrun, marks=pytest.mark.long)])
def test_two_processes_train_one_model_and_faults_of_one_rank_are_visible(launch, corpus, tmp_path):
    """One launch for everything: starting torch takes longer than the trainings."""
    runs = tmp_path / "runs"
    both = (
        "--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4 --max_steps 10 --eval_freq 5 --eval_iters 1"
    )
    flags = [*both.split(), *"--warmup_steps 3 --watch_every 1 --telemetry_secs 0 --checkpoint_freq 5".split()]
    flags += ["--text", corpus, "--tensorboard_dir", str(runs)]
    names = [("gpt", "two"), ("moe", "two-moe"), ("gpt", "slow", "straggler", "--fault-strength", "6")]
    names += [("gpt", "apart", "rank-desync"), ("gpt", "lossy", "all-reduce-loss")]
    script = tmp_path / "ranks.py"
    script.write_text(RANKS.format(trainers=str(ROOT / "trainers"), root=str(ROOT), runs=names, flags=flags))
    done = launch(script, processes=2)
    assert done.returncode == 0, done.stderr[-3000:]
    log = pb.read(runs)

    def checksums(name):
        return [log[name].series("rank/param_checksum", rank=rank).values for rank in (0, 1)]

    for name, tag in (("two", "Loss/train"), ("two-moe", "train/loss")):
        assert log[name].series(tag).steps.tolist() == list(range(10)), name
        first, second = checksums(name)
        assert len(first) == 10
        assert first.tolist() == second.tolist(), name
    for name in ("apart", "lossy"):
        first, second = checksums(name)
        assert first[:5].tolist() == second[:5].tolist(), name
        assert (first[5:] != second[5:]).all(), name
    waits = [log["slow"].series("rank/data_time", rank=rank).values for rank in (0, 1)]
    # 0.3 s per step, far more than rank 0 needs for a batch even on a busy machine.
    assert waits[1][5:].min() > 0.29
    assert waits[0][5:].min() < waits[1][5:].min()
