"""Every tag of the five written guides is logged by a reference trainer, in files on disk."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import gpt
import moe
import pytest
import torch
import yaml
from trained import train

import pulseboard as pb

REFERENCES = Path(__file__).parents[3] / "shared" / "reference"

# ---- tags by guide. {i} is a level, a layer or a group, {name} a data set, {layer} a parameter.

SCALARS = {
    "000": """
        train/loss train/epoch_loss validation/loss {name}/loss eval/{name}/loss_quantile_X.X
        train/total_param_norm memory/ram_main_process_gb eval/eval_time_sec
    """,
    "001": """
        train/loss/total train/loss/h0 train/loss/h1 train/loss/h2 train/loss/unweighted
        train/loss/contribution_h0 train/loss/contribution_h1 train/loss/contribution_h2
        train/convergence/rate_h0 train/convergence/rate_h1 train/convergence/rate_h2
        train/prediction/level{i}_cosine_sim_mean train/prediction/level{i}_cosine_sim_std
        train/prediction/level{i}_cosine_sim_min train/prediction/level{i}_cosine_sim_max
        train/prediction/level{i}_normalized_mse train/prediction/level{i}_l2_distance
        train/collapse/level{i}_mean_std_per_dim train/collapse/level{i}_min_std_per_dim
        train/collapse/level{i}_effective_rank train/collapse/level{i}_mean_similarity
        train/collapse/level{i}_max_similarity train/collapse/level{i}_std_similarity
        train/ema/momentum_current train/ema/momentum_target train/ema/avg_parameter_divergence
        train/ema/weight_magnitude_ratio
        train/masking/mask_ratio train/masking/num_masked_patches train/masking/num_unmasked_patches
        train/hierarchy/level{i}_feat_mean train/hierarchy/level{i}_feat_std train/hierarchy/level{i}_feat_range
        train/hierarchy/level{i}_feat_norm train/hierarchy/level{i}_num_patches
        train/gradient_flow/global_norm train/gradient_flow/context_encoder_mean
        train/gradient_flow/context_encoder_max train/gradient_flow/predictor_mean train/gradient_flow/predictor_max
        train/gradient_flow/target_encoder_mean
        train/gradient/global_norm_before_clip train/gradient/global_norm_after_clip train/gradient/clipping_ratio
        train/gradient/was_clipped train/gradient/clipping_percentage
        train/learning_rate/base_lr train/learning_rate/param_group_{i} train/learning_rate/avg_param_update
        train/stability/loss_smoothness train/stability/loss_trend_slope train/stability/loss_spike_ratio
        train/stability/val_train_loss_ratio
        train/performance/forward_time_ms train/performance/backward_time_ms train/performance/total_time_ms
        train/performance/samples_per_second train/performance/forward_backward_ratio
    """,
    "002": """
        Loss/train Loss/validation Learning_Rate/lr Gradient/norm Performance/step_time_ms Performance/tokens_per_sec
        Training/epoch Evaluation/hellaswag_accuracy
    """,
    "003": "train/loss eval/train_loss eval/val_loss eval/learning_rate",
    "004": """
        train/loss train/norm train/lr train/epoch train/step_tokens train/duration_ms train/tokens_per_second
        eval/loss eval/eval_tokens eval/duration_ms eval/tokens_per_second
        moe/aux_loss moe/z_loss moe/expert_utilization moe/load_imbalance
        sol/blocks sol/lm_head sol/attention sol/tps allocator/{segment_name}_mib
    """,
}
HISTOGRAMS = {"001": "gradients/{layer}_histogram", "002": "Parameters/* Gradients/*"}
TEXTS = {"002": "Generated_Samples/text"}
# These need a GPU.
GPU_SCALARS = {
    "000": "memory/vram_allocated_gb memory/vram_reserved_gb memory/vram_peak_gb",
    "001": "train/performance/gpu_memory_allocated_gb train/performance/gpu_memory_reserved_gb",
    "004": """
        gpu/{gpu_id}/clock gpu/{gpu_id}/max_clock gpu/{gpu_id}/power gpu/{gpu_id}/power_limit gpu/{gpu_id}/temperature
        gpu/{gpu_id}/temp_slowdown gpu/{gpu_id}/gpu_util gpu/{gpu_id}/mem_util gpu/{gpu_id}/dram_free
        gpu/{gpu_id}/pcie_rx gpu/{gpu_id}/pcie_tx gpu/{gpu_id}/fan
        sol/tf32_peak sol/bf16_peak sol/fp16_peak sol/fp8_peak
    """,
}
# The JSON log of the fifth guide, by record.
RECORDS = {
    "step": "step epoch step_tokens duration_ms norm loss lr moe_aux_loss moe_z_loss moe_load_imbalance",
    "eval": "step epoch eval_tokens duration_ms loss",
    "moe": "step aux_loss z_loss expert_utilization load_imbalance",
    "sol": "blocks lm_head attention tps",
    "allocator": "step stats",
    "dataset": "split files tokens file_index chunk_index seed",
}
MEMORY_KINDS = "device managed pinned pageable"
GPU_RECORDS = {
    "gpu": "id clock max_clock fan power power_limit temperature temp_slowdown gpu_util mem_util throttle dram_free "
    "pcie_rx pcie_tx",
    "gpu-model": "name sm_count major minor memory free l2_size uuid ecc cuda_driver cuda_runtime",
}

NEEDS_A_GPU = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="these tags are measured on a GPU, and there is none"
)


def every(listed):
    """(guide, tag) of a table."""
    return [(guide, tag) for guide, tags in listed.items() for tag in tags.split()]


# ---- short real trainings of each trainer

TEXT_MODEL = (
    "--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4 --max_steps 4 --warmup_steps 1 --eval_freq 2 "
    "--eval_iters 1 --watch_every 2"
)
GPT = f"{TEXT_MODEL} --histogram-interval 2 --sample_length 4 --checkpoint_freq 0 --telemetry_secs 1 --quiet"
IMAGES = "--train-images 64 --batch-size 16"
HJEPA = f"{IMAGES} --size 32 --patch 4 --dim 16 --depth 1 --heads 2 --predictor-dim 16 --steps 6 --eval-every 3"
DIFFUSION = f"{IMAGES} --width 8 --size 8 --val-images 20 --noise-steps 20 --sampling-steps 2 --steps 6"
CLASSIFIER = f"{IMAGES} --width 4 --size 16 --steps 4 --eval-every 2"


@pytest.fixture(scope="session")
def logged(tmp_path_factory, corpus):
    """The runs of all five trainers, read from their files, and the JSON log of moe.py."""
    runs = tmp_path_factory.mktemp("documented")
    questions = runs / "questions.jsonl"
    questions.write_text(json.dumps({"ctx": "The license", "endings": ["is", "was", "eats"], "label": 0}) + "\n")
    for name, *flags in (
        ("gpt", "--use_tensorboard", "--hellaswag", str(questions)),
        ("gpt-lower", "--tags", "lower"),
    ):
        gpt.main([*GPT.split(), "--text", corpus, "--tensorboard_dir", str(runs), "--run_name", name, *flags])
    config = runs / "moe.yaml"
    config.write_text(yaml.safe_dump({"report_to": ["tensorboard", "json"], "telemetry_secs": 1, "n_experts": 4}))
    moe.main([str(config), *TEXT_MODEL.split(), "--text", corpus, "--output_dir", str(runs), "--run_name", "moe"])
    run_ids = {
        trainer: train(trainer, runs, *flags.split(), "--run-tag", trainer).script.run.id
        for trainer, flags in (
            ("hjepa", f"{HJEPA} --log-every 1"),
            ("diffusion", DIFFUSION),
            ("classifier", CLASSIFIER),
        )
    }
    log = pb.read(runs)
    by_guide = {
        "000": log[run_ids["diffusion"]],
        "001": log[run_ids["hjepa"]],
        "002": log["gpt"],
        "003": log["gpt-lower"],
        "004": log["moe"],
    }
    records = json.loads((runs / "moe" / "training.json").read_text())
    return SimpleNamespace(by_guide=by_guide, classifier=log[run_ids["classifier"]], records=records)


def tag_pattern(tag):
    """A tag of a guide as a regular expression."""
    pattern = re.escape(tag.replace("X.X", "{quantile}"))
    for placeholder, expression in {
        r"\{i\}": r"\d+",
        r"\{name\}": "[^/]+",
        r"\{layer\}": ".+",
        r"\{gpu_id\}": r"\d+",
        r"\{segment_name\}": r"\w+",
        r"\{quantile\}": r"\d\.\d",
        r"\*": ".+",
    }.items():
        pattern = pattern.replace(placeholder, expression)
    return re.compile(pattern)


def found(run, tag, *, kind):
    return [logged_tag for logged_tag in run.tags(kind) if tag_pattern(tag).fullmatch(logged_tag)]


@pytest.mark.parametrize(("guide", "tag"), every(SCALARS))
def test_a_documented_scalar_is_logged(logged, guide, tag):
    tags = found(logged.by_guide[guide], tag, kind="scalar")
    assert tags, f"no {tag} among {logged.by_guide[guide].tags('scalar')}"
    for logged_tag in tags:
        assert len(logged.by_guide[guide].series(logged_tag)) >= 1


@pytest.mark.parametrize("tag", [tag for guide, tag in every(SCALARS) if guide == "001" and "level{i}" in tag])
def test_a_documented_tag_of_a_level_is_logged_for_all_three(logged, tag):
    assert len(found(logged.by_guide["001"], tag, kind="scalar")) == 3


@pytest.mark.parametrize("name", ["validation", "small_shapes", "large_shapes"])
def test_every_tenth_of_the_noise_levels_has_a_loss_on_every_set(logged, name):
    assert len(found(logged.by_guide["000"], f"eval/{name}/loss_quantile_X.X", kind="scalar")) == 10


@pytest.mark.parametrize(("guide", "tag"), every(HISTOGRAMS))
def test_a_documented_histogram_is_logged_for_several_layers(logged, guide, tag):
    assert len(found(logged.by_guide[guide], tag, kind="histogram")) > 5


@pytest.mark.parametrize(("guide", "tag"), every(TEXTS))
def test_a_documented_text_is_logged(logged, guide, tag):
    assert found(logged.by_guide[guide], tag, kind="text")


def test_hyperparameters_are_logged(logged):
    assert logged.by_guide["002"].tags("hparams")


@pytest.mark.parametrize(("kind", "field"), every(RECORDS))
def test_a_documented_field_is_in_the_json_log(logged, kind, field):
    records = [record for record in logged.records if record["log"] == kind]
    assert records
    assert records[-1][field] is not None


def test_the_memory_of_each_segment_is_split_by_kind(logged):
    stats = next(record for record in logged.records if record["log"] == "allocator")["stats"]
    assert {segment["name"] for segment in stats} >= {"weights", "gradients", "optimizer"}
    for segment in stats:
        assert set(segment) == {"name", *MEMORY_KINDS.split()}


@NEEDS_A_GPU
@pytest.mark.parametrize(("guide", "tag"), every(GPU_SCALARS))
def test_a_documented_scalar_of_a_gpu_is_logged(logged, guide, tag):
    assert found(logged.by_guide[guide], tag, kind="scalar")


@NEEDS_A_GPU
@pytest.mark.parametrize(("kind", "field"), every(GPU_RECORDS))
def test_a_documented_field_of_a_gpu_is_in_the_json_log(logged, kind, field):
    records = [record for record in logged.records if record["log"] == kind]
    assert records
    assert field in records[-1]


def test_the_plain_classifier_has_the_usual_tags(logged):
    assert {"train/loss", "train/accuracy", "val/loss", "val/accuracy", "train/lr"} <= set(
        logged.classifier.tags("scalar")
    )


# ---- the lists above are complete

# Paths and URLs.
_NOT_A_TAG = re.compile(r"runs/|logs|results/|configs/|scripts/|\.py|\.md|http|path/|output/|data/")
# Abbreviations of tags that are listed in full: of a level, of a GPU, and of the first GPU in W&B.
_ABBREVIATIONS = {
    "collapse/level{i}_*",
    "gpu/{gpu_id}/{metric_name}",
    "gpu/0/power",
    "gpu/clock",
    "gpu/power",
    "gpu/temperature",
}
# In the JSON log: fields of every record, segments of models that are not trained here, and a value that only the
# console prints.
_OTHER_FIELDS = {
    "log",
    "time",
    "name",
    "id",
    "activations",
    "lora",
    "qlora",
    "weights",
    "gradients",
    "optimizer",
    "gap",
}


def guide_text(guide):
    """A written guide; without it the test is skipped."""
    texts = sorted(REFERENCES.glob(f"{guide}_*.txt"))
    if not texts:
        pytest.skip("the written guides (../shared/reference) are missing; the lists in this test were made from them")
    return texts[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("guide", sorted(SCALARS))
def test_the_lists_of_this_test_include_every_tag_of_a_guide(guide):
    text = guide_text(guide)
    quoted, listed = re.findall(r"`([A-Za-z_{}]+/[^`\s]+)`", text), re.findall(r"^(train/\S+)", text, re.MULTILINE)
    names = {name for name in (*quoted, *listed) if not _NOT_A_TAG.search(name)} - _ABBREVIATIONS
    assert names, "nothing in the guide looks like a tag: has its format changed?"
    known = {tag for listed in (SCALARS, HISTOGRAMS, TEXTS, GPU_SCALARS) for tag in listed.get(guide, "").split()}
    assert names - known - {tag.removeprefix("train/") for tag in known} == set()


def test_the_lists_of_this_test_include_every_field_of_the_json_log():
    text = guide_text("004")
    rows = re.findall(r"^\| (`.*?) +\|", text, re.MULTILINE)
    fields = {*re.findall(r'"(\w+)":', text), *(name for row in rows for name in re.findall(r"`(\w+)`", row))}
    assert len(fields) > 50
    tags = [tag for listed in (SCALARS, GPU_SCALARS) for tag in listed["004"].split()]
    known = {field for _, field in (*every(RECORDS), *every(GPU_RECORDS))} | {tag.rsplit("/")[-1] for tag in tags}
    assert fields - known - _OTHER_FIELDS - set(MEMORY_KINDS.split()) == set()
