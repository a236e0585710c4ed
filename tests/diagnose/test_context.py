import math

import pytest

from pulseboard.diagnose.context import Context


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        ({"max_steps": 400}, "planned_steps", 400),
        ({"trainer": {"total_steps": 400.0}}, "planned_steps", 400),
        ({"grad_clip": 1.0}, "clip_norm", 1.0),
        ({"max_grad_norm": 0}, "clip_norm", None),
        ({"optimizer": "AdamW"}, "optimizer", "adamw"),
        ({"model": {"vocab_size": 90}}, "choices", 90),
        ({"num_classes": 10}, "choices", 10),
        ({"unigram_entropy": 3.3}, "entropy", 3.3),
        ({"hierarchy_weights": [1, 0.7, 0.4]}, "hierarchy_weights", (1.0, 0.7, 0.4)),
        ({"freeze_backbone": True}, "frozen_on_purpose", True),
        ({"max_steps": "many"}, "planned_steps", None),
        ({"max_steps": float("nan")}, "planned_steps", None),
        ({"declared_changes": [{"step": 10, "what": "batch"}, 20]}, "declared_changes",
         ((10, "batch"), (20, "a declared change"))),
    ],
)  # fmt: skip
def test_a_configuration_is_read_whatever_its_names(config, name, value):
    assert getattr(Context.of(config), name) == value


@pytest.mark.parametrize(("optimizer", "adaptive"), [("AdamW", True), ("SGD", False), ("Muon", True), (None, None)])
def test_the_optimizer_says_whether_clipping_matters(optimizer, adaptive):
    assert Context.of({"optimizer": optimizer} if optimizer else {}).adaptive is adaptive


def test_a_guess_has_the_logarithm_of_the_choices():
    assert Context.of({"vocab_size": 90}).guess_loss == pytest.approx(math.log(90))
    assert Context.of({}).guess_loss is None
