"""trainers/moe.py writes every record of its guide, routes correctly, and resumes exactly."""

import json
import os
from pathlib import Path

import moe
import numpy as np
import pytest
import torch
import yaml

import pulseboard as pb

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL = {
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 16,
    "block_size": 16,
    "batch_size": 4,
    "n_experts": 4,
    "max_steps": 12,
    "warmup_steps": 3,
    "eval_freq": 6,
    "eval_iters": 2,
    "watch_every": 1,
    "telemetry_secs": 0,
    "checkpoint_freq": 4,
}
# Records and fields of the guide that need no GPU.
RECORDS = {
    "step": "epoch step_tokens duration_ms norm loss lr moe_aux_loss moe_z_loss moe_load_imbalance",
    "eval": "epoch eval_tokens duration_ms loss",
    "moe": "aux_loss z_loss expert_utilization load_imbalance",
    "sol": "blocks lm_head attention tps",
    "allocator": "stats",
    "dataset": "split files tokens file_index chunk_index seed",
}
TAGS = """train/loss train/norm train/lr train/epoch train/step_tokens train/duration_ms train/tokens_per_second
eval/loss eval/eval_tokens eval/duration_ms eval/tokens_per_second
moe/aux_loss moe/z_loss moe/expert_utilization moe/load_imbalance moe/router_entropy moe/drop_rate moe/dead_experts
moe/layer0/max_load moe/layer1/max_load moe/layer0/router_entropy moe/layer0/expert0_load
sol/blocks sol/lm_head sol/attention sol/tps sol/percentage
allocator/weights_mib allocator/gradients_mib allocator/optimizer_mib""".split()


@pytest.fixture(scope="session")
def train(runs, corpus, tmp_path_factory):
    def trained(name, *flags, **config):
        file = tmp_path_factory.mktemp("config") / "config.yaml"
        file.write_text(yaml.safe_dump({"report_to": ["tensorboard", "json"], **SMALL, **config}))
        moe.main([str(file), "--text", corpus, "--output_dir", str(runs), "--run_name", name, *map(str, flags)])
        return pb.read(runs)[name]

    return trained


@pytest.fixture(scope="session")
def healthy(train):
    return train("moe")


def records(runs, name):
    return json.loads((runs / name / "training.json").read_text())


def test_every_record_of_the_guide_is_in_the_json_log(healthy, runs):
    found = records(runs, "moe")
    for kind, fields in RECORDS.items():
        records_of_kind = [record for record in found if record["log"] == kind]
        assert records_of_kind, kind
        for field in ["time", "step", *fields.split()]:
            assert records_of_kind[-1][field] is not None, (kind, field)
    assert len([record for record in found if record["log"] == "step"]) == 12
    assert {record["split"] for record in found if record["log"] == "dataset"} == {"train", "eval"}
    stats = next(record for record in found if record["log"] == "allocator")["stats"]
    assert {segment["name"] for segment in stats} == {"weights", "gradients", "optimizer"}


def test_every_tag_of_the_guide_is_in_the_event_file(healthy):
    assert set(TAGS) <= set(healthy.tags("scalar"))
    assert len(healthy.series("moe/load_imbalance")) == 12


def test_the_console_has_a_line_for_every_step(train, capsys):
    train("console", report_to=["tensorboard"], max_steps=2, eval_freq=10)
    out = capsys.readouterr().out
    assert ":: step       1" in out
    assert "| aux 0." in out
    assert "| imbal " in out
    assert "| sol " in out
    assert ">> eval" in out
    assert "[Speed of Light]" in out


def test_flags_override_the_file_and_turn_the_json_log_and_the_console_off(train, runs, capsys):
    flags = ("--max_steps", 1, "--log_file", "none", "--verbosity", -2)
    train("nowhere", *flags, report_to="tensorboard", learning_rate=0.5)
    assert not (runs / "nowhere" / "training.json").exists()
    assert "step" not in capsys.readouterr().out
    run_json = json.loads((runs / "nowhere" / "run.json").read_text())
    assert run_json["config"]["max_steps"] == 1
    assert run_json["config"]["learning_rate"] == 0.5


def test_report_to_adds_backends_to_the_event_file(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("report_to: [wandb, aim]\nwandb_project: my-project\n")
    args, sink_settings, _ = moe.parse([str(file)])
    assert args.report_to == ["tensorboard", "wandb", "aim"]
    assert sink_settings == {"wandb_project": "my-project"}


def test_the_json_log_and_the_console_are_on_whatever_report_to_says(train, runs, capsys):
    train("local", "--max_steps", 1, report_to="tensorboard")
    assert [record for record in records(runs, "local") if record["log"] == "step"]
    assert ":: step       0" in capsys.readouterr().out


def test_the_trainer_returns_the_state_of_its_routers(runs, corpus, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"report_to": ["tensorboard", "json"], **SMALL}))
    flags = ["--text", corpus, "--output_dir", str(runs), "--run_name", "stats", "--max_steps", "2"]
    stats = moe.main([str(file), *flags]).get_moe_stats()
    logged = [record for record in records(runs, "stats") if record["log"] == "moe"][-1]
    assert stats == {
        **{name: pytest.approx(logged[name], rel=1e-5) for name in ("aux_loss", "z_loss")},
        **{name: pytest.approx(logged[name], rel=1e-5) for name in ("expert_utilization", "load_imbalance")},
        "valid": True,
    }


# ---- routing


def experts(**rules):
    torch.manual_seed(0)
    rules = moe.SimpleNamespace(**{"top_k": 2, "capacity_factor": 2.0, **rules})
    return moe.Experts(8, 4, 0.0, rules)


@torch.no_grad()
def test_a_token_gets_the_weighted_sum_of_its_experts():
    layer, x = experts(capacity_factor=100.0), torch.randn(2, 3, 8)
    found = layer(x).flatten(0, 1)
    for i, token in enumerate(x.flatten(0, 1)):
        probabilities = (layer.router.weight @ token).softmax(0)
        best = probabilities.topk(2).indices.tolist()
        share = probabilities[best] / probabilities[best].sum()
        by_hand = sum(w * layer.experts[e](token[None])[0] for w, e in zip(share, best, strict=True))
        torch.testing.assert_close(found[i], by_hand, rtol=1e-5, atol=1e-6)
    assert layer.counts.sum() == 12
    assert layer.dropped == 0


@torch.no_grad()
def test_a_full_expert_drops_the_last_tokens():
    layer = experts(top_k=1, capacity_factor=1.0)
    x = torch.randn(1, 1, 8).expand(1, 8, 8)  # the same token eight times: all choose the same expert
    found = layer(x)[0]
    assert layer.counts.max() == 8
    assert layer.dropped == 6  # capacity for an even load: two
    assert (found[:2].abs().sum(dim=1) > 0).all()
    assert (found[2:] == 0).all()


def test_the_logged_losses_are_the_trained_ones():
    layer, x = experts(), torch.randn(4, 16, 8)
    layer(x)
    logged = moe.instruments.moe([layer.logits], expert_counts=[layer.counts], aux_coefficient=1.0, z_coefficient=1.0)
    assert float(logged["moe/aux_loss"]) == pytest.approx(layer.aux_loss.item(), rel=1e-5)
    assert float(logged["moe/z_loss"]) == pytest.approx(layer.z_loss.item(), rel=1e-5)
    (layer.aux_loss + layer.z_loss).backward()
    assert layer.router.weight.grad.abs().sum() > 0


def test_an_expert_without_tokens_still_has_gradients():
    layer = experts(top_k=1)
    layer(torch.randn(1, 1, 8)).sum().backward()
    assert all(p.grad is not None for p in layer.experts.parameters())


# ---- the training


def test_the_loss_curve_is_the_golden_one(healthy):
    path = GOLDEN / "moe_losses.json"
    found = healthy.series("train/loss").values
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(json.dumps([round(float(loss), 6) for loss in found]) + "\n")
    np.testing.assert_allclose(found, json.loads(path.read_text()), atol=1e-3)


def test_a_short_training_beats_character_frequencies(train, runs):
    run = train("moe-learns", max_steps=150, n_embd=32, batch_size=8, learning_rate=1e-2, eval_freq=150, watch_every=50)
    entropy = json.loads((runs / "moe-learns" / "run.json").read_text())["config"]["unigram_entropy"]
    assert run.series("eval/loss").values[-1] < entropy - 0.5
    assert run.series("moe/expert_utilization").values[-20:].min() == 1


def test_a_resumed_run_has_the_losses_of_the_uninterrupted_one(healthy, train, runs):
    train("stopped", max_steps=12)
    (runs / "stopped" / "checkpoints" / "step_00000012.pt").unlink()
    moe.main(["--output_dir", str(runs), "--resume", str(runs / "stopped")])
    resumed = pb.read(runs)["stopped"].series("train/loss")
    assert resumed.steps.tolist() == list(range(12))
    assert resumed.values.tolist() == healthy.series("train/loss").values.tolist()
    assert json.loads((runs / "stopped" / "run.json").read_text())["resumed"]
