"""The roles of losses, errors and scores. Which of several tags counts is settled in resolve.py."""

from __future__ import annotations

from collections.abc import Callable

from pulseboard.diagnose.roles.quantity import quantity_of
from pulseboard.diagnose.roles.role import Role
from pulseboard.diagnose.roles.shape import a_score, not_a_counter
from pulseboard.diagnose.roles.words import Words
from pulseboard.diagnose.track import Change

_LOSS_CHANGES = (Change(), Change(block=16))
_MAIN = ("whole", "typed", "component", "reinforcement", "adversarial")


def _is(kind: str, *splits: str, parts: tuple[str, ...] = ()) -> Callable[[Words], bool]:
    def fits(words: Words) -> bool:
        quantity = quantity_of(words.tag)
        if quantity is None or quantity.kind != kind or quantity.split not in splits:
            return False
        return not parts or quantity.part in parts

    return fits


QUANTITY_ROLES: tuple[Role, ...] = (
    Role(
        "train.loss",
        "the loss that training minimizes, on training batches",
        'run.log({"train/loss": loss}, step=step)',
        _is("loss", "train", "", parts=_MAIN),
        not_a_counter,
        changes=_LOSS_CHANGES,
    ),
    Role(
        "loss.components",
        "one of several parts of the training loss",
        "",
        _is("loss", "train", "", parts=("component", "auxiliary", "typed")),
        not_a_counter,
        many=True,
    ),
    Role(
        "val.loss",
        "the loss on held-out data",
        'run.log({"val/loss": validation_loss}, step=step)',
        _is("loss", "validation", parts=_MAIN),
        not_a_counter,
        many=True,
    ),
    Role(
        "train.accuracy",
        "a score on training batches that rises as the model learns",
        'run.log({"train/accuracy": accuracy}, step=step)',
        _is("score", "train", ""),
        a_score,
        many=True,
    ),
    Role(
        "val.accuracy",
        "a score on held-out data that rises as the model learns",
        'run.log({"val/accuracy": accuracy}, step=step)',
        _is("score", "validation"),
        a_score,
        many=True,
    ),
    Role("train.error", "an error on training batches", "", _is("error", "train", ""), not_a_counter, many=True),
    Role("val.error", "an error on held-out data", "", _is("error", "validation"), not_a_counter, many=True),
    Role(
        "rl.loss",
        "a loss of reinforcement learning, which need not fall",
        "",
        _is("loss", "train", "", "validation", parts=("reinforcement",)),
        many=True,
    ),
    Role(
        "gan.loss",
        "a loss of two networks that compete, which need not fall",
        "",
        _is("loss", "train", "", "validation", parts=("adversarial",)),
        many=True,
    ),
)
