"""Tags of language models, compared with plain definitions."""

import math

import numpy as np
import pytest
import torch
from instruments import plain

import pulseboard as pb
from pulseboard.instruments import language_model, loss_estimates

KINDS = {"numpy": np.asarray, "list": list, "float32": lambda x: torch.tensor(x, dtype=torch.float32)}


def test_a_step_has_every_value_that_was_passed():
    found = language_model.step(
        torch.tensor(10.5), lr=6e-4, gradient_norm=torch.tensor(3.0), clip_norm=1.0, step_secs=0.5, tokens=2048, epoch=2
    )
    assert plain.as_floats(found) == {
        "Loss/train": 10.5,
        "Learning_Rate/lr": 6e-4,
        "Gradient/norm": 1.0,
        "Performance/step_time_ms": 500.0,
        "Performance/tokens_per_sec": 4096.0,
        "Training/epoch": 2,
    }


def test_values_that_were_not_passed_are_left_out():
    assert language_model.step(2.0) == {"Loss/train": 2.0}
    assert set(language_model.step(2.0, step_secs=1.0)) == {"Loss/train", "Performance/step_time_ms"}
    assert language_model.evaluation([2.0]) == {"Loss/validation": 2.0}
    assert loss_estimates([1.0], val_losses=[2.0]) == {"eval/train_loss": 1.0, "eval/val_loss": 2.0}


@pytest.mark.parametrize("norm", [0.25, np.float32(0.25), torch.tensor(0.25), torch.tensor([0.25])])
def test_a_norm_below_the_clip_norm_is_unchanged(norm):
    assert float(language_model.step(1.0, gradient_norm=norm, clip_norm=1.0)["Gradient/norm"]) == 0.25
    assert float(language_model.step(1.0, gradient_norm=norm)["Gradient/norm"]) == 0.25


def test_a_nan_norm_stays_nan():
    assert math.isnan(language_model.step(1.0, gradient_norm=torch.tensor(math.nan), clip_norm=1.0)["Gradient/norm"])
    assert math.isnan(language_model.step(1.0, gradient_norm=math.nan, clip_norm=1.0)["Gradient/norm"])


def test_a_step_of_no_time_has_no_throughput():
    assert math.isnan(language_model.step(1.0, step_secs=0.0, tokens=5)["Performance/tokens_per_sec"])


@pytest.mark.parametrize("kind", KINDS)
def test_evaluations_are_means(kind):
    found = language_model.evaluation(KINDS[kind]([2.0, 4.0]), hellaswag_correct=KINDS[kind]([1, 0, 0, 0]))
    assert plain.as_floats(found) == {"Loss/validation": 3.0, "Evaluation/hellaswag_accuracy": 0.25}
    found = loss_estimates(KINDS[kind]([1.0, 2.0]), val_losses=KINDS[kind]([2.0, 4.0]), learning_rate=0.02)
    assert plain.as_floats(found) == {"eval/train_loss": 1.5, "eval/val_loss": 3.0, "eval/learning_rate": 0.02}


@pytest.mark.parametrize("empty", [[], np.zeros(0), torch.zeros(0)])
def test_evaluations_of_nothing_are_nan(empty):
    assert math.isnan(language_model.evaluation(empty)["Loss/validation"])
    assert math.isnan(loss_estimates(empty, val_losses=empty)["eval/val_loss"])


def test_samples_are_quoted_whatever_they_contain(tmp_path):
    (tag, text), *rest = language_model.generated_samples(["# Not a title", "a ``` fence"], prompt="Once").items()
    assert (tag, rest) == ("Generated_Samples/text", [])
    assert text == "Prompt: Once\n\n```\n# Not a title\n```\n\n````\na ``` fence\n````"
    with pb.init(dir=tmp_path, run_id="r", telemetry_secs=0, strict=True) as run:
        run.log(language_model.step(2.5, lr=1e-3), step=0)
        for tag, text in language_model.generated_samples("one").items():
            run.text(tag, text, step=0)
        run.hparams({"lr": 1e-3}, {"Loss/train": 2.5})
    log = pb.read(tmp_path)["r"]
    assert log.series("Loss/train").values.tolist()[0] == 2.5
    assert "one" in str(log.texts("Generated_Samples/text")[0])
