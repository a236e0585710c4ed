"""Instruments are declared once, with every tag, and work without torch."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pulseboard.core.errors import PulseboardError
from pulseboard.core.metric import Metric
from pulseboard.instruments import registry
from pulseboard.instruments.registry import all_instruments, instrument
from pulseboard.instruments.table import table, watch_table
from pulseboard.instruments.watch.measurement import Measurement, all_measurements, measurement

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "instruments.md"

# Tags of the reference documents that instruments log.
NAMED_TAGS = set(
    """
train/loss train/epoch_loss {name}/loss eval/{name}/loss_quantile_X.X eval/eval_time_sec
train/loss/total train/loss/h{i} train/loss/unweighted train/loss/contribution_h{i} train/convergence/rate_h{i}
train/ema/momentum_current train/ema/momentum_target train/ema/avg_parameter_divergence
train/ema/weight_magnitude_ratio
train/masking/mask_ratio train/masking/num_masked_patches train/masking/num_unmasked_patches
train/prediction/level{i}_cosine_sim_mean train/prediction/level{i}_cosine_sim_std
train/prediction/level{i}_cosine_sim_min train/prediction/level{i}_cosine_sim_max
train/prediction/level{i}_normalized_mse train/prediction/level{i}_l2_distance
train/collapse/level{i}_mean_std_per_dim train/collapse/level{i}_min_std_per_dim
train/collapse/level{i}_effective_rank train/collapse/level{i}_mean_similarity
train/collapse/level{i}_max_similarity train/collapse/level{i}_std_similarity
train/gradient/global_norm_before_clip train/gradient/global_norm_after_clip train/gradient/clipping_ratio
train/gradient/was_clipped train/gradient/clipping_percentage
train/hierarchy/level{i}_feat_mean train/hierarchy/level{i}_feat_std train/hierarchy/level{i}_feat_range
train/hierarchy/level{i}_feat_norm train/hierarchy/level{i}_num_patches
train/stability/loss_smoothness train/stability/loss_trend_slope train/stability/loss_spike_ratio
train/stability/val_train_loss_ratio
train/performance/forward_time_ms train/performance/backward_time_ms train/performance/total_time_ms
train/performance/samples_per_second train/performance/forward_backward_ratio
train/performance/gpu_memory_allocated_gb train/performance/gpu_memory_reserved_gb
moe/aux_loss moe/z_loss moe/expert_utilization moe/load_imbalance
sol/blocks sol/lm_head sol/attention sol/tps sol/tf32_peak sol/bf16_peak sol/fp16_peak sol/fp8_peak
allocator/weights_mib allocator/gradients_mib allocator/optimizer_mib allocator/activations_mib
allocator/lora_mib allocator/qlora_mib
Loss/train Loss/validation Learning_Rate/lr Gradient/norm Performance/step_time_ms Performance/tokens_per_sec
Training/epoch Evaluation/hellaswag_accuracy Generated_Samples/text eval/train_loss eval/val_loss eval/learning_rate
""".split()
)

# Tags that pb.watch logs.
WATCHED_TAGS = set(
    """
train/gradient_flow/global_norm train/gradient_flow/{part}_mean train/gradient_flow/{part}_max train/total_param_norm
train/learning_rate/base_lr train/learning_rate/param_group_{i} train/learning_rate/avg_param_update
""".split()
)


def test_every_tag_of_the_references_is_declared():
    assert {tag for each in all_instruments().values() for tag in each.metrics} >= NAMED_TAGS
    assert {tag for each in all_measurements().values() for tag in each.metrics} >= WATCHED_TAGS


def test_every_tag_has_a_unit_a_meaning_and_an_expectation():
    for each in [*all_instruments().values(), *all_measurements().values()]:
        assert each.every >= 1
        for tag, metric in each.metrics.items():
            assert metric.unit, tag
            assert len(metric.meaning) > 5, tag
            assert metric.expected, tag


def test_a_tag_is_declared_once():
    tags = [tag for each in all_instruments().values() for tag in each.metrics]
    assert sorted(tags) == sorted(set(tags))


def test_two_instruments_with_one_id_fail_and_both_files_are_named():
    with pytest.raises(PulseboardError, match=r"'collapse'.*collapse\.py and .*test_registry\.py"):

        @instrument(id="collapse", metrics={"x": Metric("1", "m", "e")})
        def another():
            return {}


def test_two_measurements_with_one_id_fail_and_both_files_are_named():
    all_measurements()
    with pytest.raises(PulseboardError, match=r"'amp'.*amp\.py and .*test_registry\.py"):

        @measurement(id="amp", metrics={})
        class Another(Measurement):
            pass


@pytest.mark.parametrize(("head", "want"), [("Tag", table()), ("Name", watch_table())])
def test_the_page_has_the_tables_of_the_declarations(head, want):
    found = re.search(rf"^\| {head} .*?\n(?=\n)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found[0] == want, "run `python -m pulseboard.instruments.table` and put it into docs/guides/instruments.md"


def test_the_table_can_be_printed():
    command = [sys.executable, "-m", "pulseboard.instruments.table"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == table() + "\n" + watch_table()


def test_arrays_need_no_torch():
    code = """
import json, sys
sys.modules["torch"] = None  # an import fails
import numpy as np
from pulseboard.instruments import Convergence, all_instruments, collapse, moe
found = {**collapse(np.eye(3), level=0), **moe([np.eye(3)]), **Convergence()([1.0])}
print(json.dumps({"found": found, "instruments": len(all_instruments())}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["found"]["moe/load_imbalance"] == 1


def test_the_examples_of_the_page_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # they write a run
    monkeypatch.setattr(registry, "_instruments", dict(all_instruments()))  # they register one
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(code) >= 5
    namespace = {"__name__": "docs"}
    for block in code:
        exec(compile(block, str(PAGE), "exec"), namespace)
