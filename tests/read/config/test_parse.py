"""Configurations as text, in every form that trainings write."""

import pytest

from pulseboard.read.config.parse import parse_arguments, parse_config
from pulseboard.read.parsing.yaml_file import NotUsable

PIX2PIX = """----------------- Options ---------------
               batch_size: 4                             \t[default: 1]
                    beta1: 0.5
            continue_train: False
                     model: cycle_gan
                  n_epochs: 100
----------------- End -------------------
"""
LIGHTNING = "###### lightning_logs, version 5\n---\n##### Hyperparameters\nparameter|value\n-|-\nlr|0.02\nsolver|rk4\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"lr": 0.1, "optim": {"name": "adam"}}', {"lr": 0.1, "optim": {"name": "adam"}}),
        ("lr: 0.1\noptim:\n  name: adam\n", {"lr": 0.1, "optim": {"name": "adam"}}),
        ("{'lr': 0.1, 'amp': True, 'act': <class 'ReLU'>}", {"lr": 0.1, "amp": True, "act": "<class 'ReLU'>"}),
        ("{'lr': 0.1, 'amp': True, 'dims': (1, 2)}", {"lr": 0.1, "amp": True, "dims": (1, 2)}),
        ("Namespace(lr=0.1, on=device(type='cpu'), sizes=[1, 2], f=print)",
         {"lr": 0.1, "on": {"type": "cpu"}, "sizes": [1, 2], "f": "print"}),
        ("|param|value|\n|-|-|\n|lr|0.1|\n|anneal_lr|True|", {"lr": 0.1, "anneal_lr": True}),
        (LIGHTNING, {"lr": 0.02, "solver": "rk4"}),
        ("\ttrainer_type:\tppo\n\thyperparameters:\t\n\t  batch_size:\t265\n\tmax_steps:\t500000",
         {"trainer_type": "ppo", "hyperparameters": {"batch_size": 265}, "max_steps": 500000}),
        (PIX2PIX, {"batch_size": 4, "beta1": 0.5, "continue_train": False, "model": "cycle_gan", "n_epochs": 100}),
        ("```yaml\nlr: 0.1\n```", {"lr": 0.1}),
        ("", {}),
        ("just a sentence", {}),
        ("Epoch 3 done: it went well", {}),
        ("[1, 2, 3]", {}),
    ],
)  # fmt: skip
def test_every_form_is_read(text, found):
    assert parse_config(text) == found


def test_nothing_in_a_configuration_is_executed(tmp_path):
    target = tmp_path / "touched"
    for text in (
        f"Namespace(x=open({str(target)!r}, 'w'))",
        f"{{'x': open({str(target)!r}, 'w')}}",
        f"x: !!python/object/apply:builtins.open [{target}, w]",
    ):
        parse_config(text)
    assert not target.exists()


@pytest.mark.parametrize("text", ["[" * 100_000, "{'a': " * 50_000, "Namespace(a=" + "(" * 90_000, "- " * 50_000])
def test_a_text_nested_without_end_does_not_stop_reading(text):
    try:
        assert parse_config(text) == {}
    except NotUsable:
        pass


def test_a_command_line_is_a_configuration():
    arguments = ["train.py", "--lr", "-0.1", "--amp", "--epochs=3", "optim.name=adam", "-b", "32", "--name", "x"]
    assert parse_arguments(arguments) == {
        "lr": -0.1, "amp": True, "epochs": 3, "optim.name": "adam", "b": 32, "name": "x",
    }  # fmt: skip
