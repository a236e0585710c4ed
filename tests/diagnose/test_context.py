import math

import pytest

from pulseboard.diagnose.context import Context, ForeignConfig


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
        ({"optimizer": {"type": "SGD", "lr": 0.01}}, "optimizer", "sgd"),
        ({"optimizer": {"_target_": "torch.optim.AdamW", "lr": 0.01}}, "learning_rate", 0.01),
        ({"optimizer": "auto"}, "optimizer", None),
        ({"fp16": True, "bf16": False}, "precision", "float16"),
        ({"fp16": "False", "bf16": "False"}, "precision", "float32"),
        ({"precision": "bf16-mixed"}, "precision", "bfloat16"),
        ({"precision": "32-true"}, "precision", "float32"),
        ({"precision": 16}, "precision", "float16"),
        ({"mixed_precision": "no"}, "precision", "float32"),
        ({"amp": True}, "precision", "mixed, 16 bit"),
        ({"amp": True, "amp_dtype": "bfloat16"}, "precision", "bfloat16"),
        ({"hidden_act": "gelu_new"}, "activation", "gelu_new"),
        ({"ema_decay": 0.999}, "ema", True),
        ({"ema": False}, "ema", False),
        ({"declared_changes": [{"step": 10, "what": "batch"}, 20]}, "declared_changes",
         ((10, "batch"), (20, "a declared change"))),
    ],
)  # fmt: skip
def test_a_configuration_is_read_whatever_its_names(config, name, value):
    assert getattr(Context.of(config), name) == value


@pytest.mark.parametrize(
    ("optimizer", "adaptive"), [("AdamW", True), ("SGD", False), ("Muon", True), (None, None), ("MyOwn", None)]
)
def test_the_optimizer_says_whether_clipping_matters(optimizer, adaptive):
    assert Context.of({"optimizer": optimizer} if optimizer else {}).adaptive is adaptive


def test_a_guess_has_the_logarithm_of_the_choices():
    assert Context.of({"vocab_size": 90}).guess_loss == pytest.approx(math.log(90))
    assert Context.of({}).guess_loss is None


def foreign(config, **more):
    return Context.of({}, others=[ForeignConfig("args.yaml", config)], **more)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"generator": {"optimizer": "adam"}, "critics": {"optimizer": "sgd"}}, "optimizer"),  # which one?
        ({"parameters": {"optimizer": {"value": "adam"}}}, "optimizer"),  # what a sweep could have chosen
        ({"val": {"batch_size": 512}}, "batch_size"),
        ({"gamma": 0.99, "clip": 0.2}, "clip_norm"),  # the range of a policy's ratio
        ({"gamma": 0.99, "n_epochs": 10}, "stated_epochs"),  # passes over a rollout
        ({"dropout": 0.0}, "dropout"),
        ({"vocab_size": 30522, "num_classes": 2}, "stated_choices"),
    ],
)
def test_what_a_foreign_configuration_means_is_not_guessed(config, name):
    assert getattr(foreign(config), name) is None


def test_a_classifier_does_not_choose_among_its_vocabulary():
    config = {"architectures": ["BertForSequenceClassification"], "vocab_size": 30522, "id2label": {"0": "A", "1": "B"}}
    assert foreign(config).stated_choices.value == 2
    assert foreign({**config, "architectures": ["GPT2LMHeadModel"]}).stated_choices.value == 30522


def test_the_configuration_given_to_pulseboard_counts_before_others():
    others = [ForeignConfig("args.yaml", {"optim": "sgd", "lr": 0.1}), ForeignConfig("config.json", {"lr": 0.2})]
    context = Context.of({"optimizer": "adam"}, others=others)
    assert (context.optimizer, context.learning_rate) == ("adam", 0.1)
