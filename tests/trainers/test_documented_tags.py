"""Every tag that the five written guides name is in the log of some reference trainer, as files on disk have it."""

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

# ---- what the guides name, by guide. {i} is a level, a layer or a group, {name} a data set, {layer} a parameter.

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
# These a machine has, or has not.
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
# The fifth guide's JSON log, record by record.
RECORDS = {
    "step": "step epoch step_tokens duration_ms norm loss lr moe_aux_loss moe_z_loss moe_load_imbalance",
    "eval": "step epoch eval_tokens duration_ms loss",
    "moe": "step aux_loss z_loss expert_utilization load_imbalance",
    "sol": "blocks lm_head attention tps",
    "allocator": "step stats",
    "dataset": "split files tokens file_index chunk_index seed",
}
PLACES = "device managed pinned pageable"
GPU_RECORDS = {
    "gpu": "id clock max_clock fan power power_limit temperature temp_slowdown gpu_util mem_util throttle dram_free "
    "pcie_rx pcie_tx",
    "gpu-model": "name sm_count major minor memory free l2_size uuid ecc cuda_driver cuda_runtime",
}

NEEDS_A_GPU = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="there is no GPU here, and these tags are measured on one"
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
PICTURES = "--train-images 64 --batch-size 16"
HJEPA = f"{PICTURES} --size 32 --patch 4 --dim 16 --depth 1 --heads 2 --predictor-dim 16 --steps 6 --eval-every 3"
DIFFUSION = f"{PICTURES} --width 8 --size 8 --val-images 20 --noise-steps 20 --sampling-steps 2 --steps 6"
CLASSIFIER = f"{PICTURES} --width 4 --size 16 --steps 4 --eval-every 2"


@pytest.fixture(scope="session")
def logged(tmp_path_factory, corpus):
    """The runs of all five trainers, read from their files, and the JSON log of the one that writes one."""
    runs = tmp_path_factory.mktemp("documented")
    questions = runs / "questions.jsonl"
    questions.write_text(json.dumps({"ctx": "The licence", "endings": ["is", "was", "eats"], "label": 0}) + "\n")
    for name, *flags in (
        ("gpt", "--use_tensorboard", "--hellaswag", str(questions)),
        ("gpt-lower", "--tags", "lower"),
    ):
        gpt.main([*GPT.split(), "--text", corpus, "--tensorboard_dir", str(runs), "--run_name", name, *flags])
    config = runs / "moe.yaml"
    config.write_text(yaml.safe_dump({"report_to": ["tensorboard", "json"], "telemetry_secs": 1, "n_experts": 4}))
    moe.main([str(config), *TEXT_MODEL.split(), "--text", corpus, "--output_dir", str(runs), "--run_name", "moe"])
    made = {
        trainer: train(trainer, runs, *flags.split(), "--run-tag", trainer).made.run.id
        for trainer, flags in (
            ("hjepa", f"{HJEPA} --log-every 1"),
            ("diffusion", DIFFUSION),
            ("classifier", CLASSIFIER),
        )
    }
    log = pb.read(runs)
    by_guide = {
        "000": log[made["diffusion"]],
        "001": log[made["hjepa"]],
        "002": log["gpt"],
        "003": log["gpt-lower"],
        "004": log["moe"],
    }
    records = json.loads((runs / "moe" / "training.json").read_text())
    return SimpleNamespace(by_guide=by_guide, classifier=log[made["classifier"]], records=records)


def like(tag):
    """A tag of a guide as a regular expression."""
    pattern = re.escape(tag.replace("X.X", "{quantile}"))
    for hole, fits in {
        r"\{i\}": r"\d+",
        r"\{name\}": "[^/]+",
        r"\{layer\}": ".+",
        r"\{gpu_id\}": r"\d+",
        r"\{segment_name\}": r"\w+",
        r"\{quantile\}": r"\d\.\d",
        r"\*": ".+",
    }.items():
        pattern = pattern.replace(hole, fits)
    return re.compile(pattern)


def found(run, tag, *, kind):
    return [one for one in run.tags(kind) if like(tag).fullmatch(one)]


@pytest.mark.parametrize(("guide", "tag"), every(SCALARS))
def test_a_documented_number_is_logged(logged, guide, tag):
    tags = found(logged.by_guide[guide], tag, kind="scalar")
    assert tags, f"no {tag} among {logged.by_guide[guide].tags('scalar')}"
    for one in tags:
        assert len(logged.by_guide[guide].series(one)) >= 1


@pytest.mark.parametrize("tag", [tag for guide, tag in every(SCALARS) if guide == "001" and "level{i}" in tag])
def test_a_documented_level_is_logged_for_each_of_the_three(logged, tag):
    assert len(found(logged.by_guide["001"], tag, kind="scalar")) == 3


@pytest.mark.parametrize("name", ["validation", "small_shapes", "large_shapes"])
def test_every_tenth_of_the_noise_has_its_loss_on_every_set(logged, name):
    assert len(found(logged.by_guide["000"], f"eval/{name}/loss_quantile_X.X", kind="scalar")) == 10


@pytest.mark.parametrize(("guide", "tag"), every(HISTOGRAMS))
def test_a_documented_distribution_is_logged_for_several_layers(logged, guide, tag):
    assert len(found(logged.by_guide[guide], tag, kind="histogram")) > 5


@pytest.mark.parametrize(("guide", "tag"), every(TEXTS))
def test_a_documented_text_is_logged(logged, guide, tag):
    assert found(logged.by_guide[guide], tag, kind="text")


def test_hyperparameters_are_logged_for_the_tab_of_their_name(logged):
    assert logged.by_guide["002"].tags("hparams")


@pytest.mark.parametrize(("kind", "field"), every(RECORDS))
def test_a_documented_field_is_in_the_json_log(logged, kind, field):
    told = [record for record in logged.records if record["log"] == kind]
    assert told
    assert told[-1][field] is not None


def test_the_memory_of_each_segment_is_told_by_its_place(logged):
    stats = next(record for record in logged.records if record["log"] == "allocator")["stats"]
    assert {one["name"] for one in stats} >= {"weights", "gradients", "optimizer"}
    for one in stats:
        assert set(one) == {"name", *PLACES.split()}


@NEEDS_A_GPU
@pytest.mark.parametrize(("guide", "tag"), every(GPU_SCALARS))
def test_a_documented_number_of_a_gpu_is_logged(logged, guide, tag):
    assert found(logged.by_guide[guide], tag, kind="scalar")


@NEEDS_A_GPU
@pytest.mark.parametrize(("kind", "field"), every(GPU_RECORDS))
def test_a_documented_field_of_a_gpu_is_in_the_json_log(logged, kind, field):
    told = [record for record in logged.records if record["log"] == kind]
    assert told
    assert field in told[-1]


def test_the_plain_classifier_has_the_names_that_everybody_has(logged):
    assert {"train/loss", "train/accuracy", "val/loss", "val/accuracy", "train/lr"} <= set(
        logged.classifier.tags("scalar")
    )


# ---- the lists above are whole

# Places on disk and addresses.
_NOT_A_TAG = re.compile(r"runs/|logs|results/|configs/|scripts/|\.py|\.md|http|path/|output/|data/")
# Ways to say in short what is listed in full: all of a level's, all of a GPU's, and the first GPU's in W&B.
_SHORT = {
    "collapse/level{i}_*",
    "gpu/{gpu_id}/{metric_name}",
    "gpu/0/power",
    "gpu/clock",
    "gpu/power",
    "gpu/temperature",
}
# Of the JSON log: what every record has, segments of models that are not trained here, and a number that only the
# console has.
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
    """A written guide; without it the test is left out."""
    texts = sorted(REFERENCES.glob(f"{guide}_*.txt"))
    if not texts:
        pytest.skip("the written guides are not beside this checkout; the lists of this test were made from them")
    return texts[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("guide", sorted(SCALARS))
def test_no_tag_of_a_guide_is_missing_from_the_lists_of_this_test(guide):
    text = guide_text(guide)
    quoted, listed = re.findall(r"`([A-Za-z_{}]+/[^`\s]+)`", text), re.findall(r"^(train/\S+)", text, re.MULTILINE)
    names = {name for name in (*quoted, *listed) if not _NOT_A_TAG.search(name)} - _SHORT
    assert names, "nothing in the guide looks like a tag: has its form changed?"
    known = {tag for listed in (SCALARS, HISTOGRAMS, TEXTS, GPU_SCALARS) for tag in listed.get(guide, "").split()}
    assert names - known - {tag.removeprefix("train/") for tag in known} == set()


def test_no_field_of_the_guide_to_the_json_log_is_missing_from_the_lists_of_this_test():
    text = guide_text("004")
    rows = re.findall(r"^\| (`.*?) +\|", text, re.MULTILINE)
    fields = {*re.findall(r'"(\w+)":', text), *(name for row in rows for name in re.findall(r"`(\w+)`", row))}
    assert len(fields) > 50
    tags = [tag for listed in (SCALARS, GPU_SCALARS) for tag in listed["004"].split()]
    known = {field for _, field in (*every(RECORDS), *every(GPU_RECORDS))} | {tag.rsplit("/")[-1] for tag in tags}
    assert fields - known - _OTHER_FIELDS - set(PLACES.split()) == set()
