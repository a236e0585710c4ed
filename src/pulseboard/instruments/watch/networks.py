"""Networks: the watches of one run, and the prefixes that keep their tags apart."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pulseboard.instruments.watch.wrappers import class_name

if TYPE_CHECKING:
    from pulseboard.instruments.watch.training import Training
    from pulseboard.record.active_run import ActiveRun


class Networks:
    """The trainings that one run watches."""

    def __init__(self) -> None:
        self._watched: list[Training] = []
        self._ended: dict[str, dict[str, Any]] = {}  # by prefix: the setup of a training that is not watched any more

    def add(self, training: Training, prefix: str | None) -> None:
        """Choose the prefix of another training.

        A single network has none. As soon as there are several, each is named after its class: those too that were
        added before and have not logged anything yet.
        """
        if prefix is not None:
            training.prefix = prefix
        elif self._watched:
            unnamed = [one for one in self._watched if one.may_be_named and not one.steps_done]
            taken = {one.prefix for one in self._watched if one not in unnamed}
            training.may_be_named = True
            _name([*unnamed, training], taken)
        else:
            training.may_be_named = True
        self._watched.append(training)

    def of_model(self, model: Any) -> Training | None:
        """The training of this model, if it is watched."""
        return next((one for one in self._watched if one.model is model), None)

    def remove(self, training: Training) -> None:
        """It is not watched any more. Its model is not kept."""
        if training in self._watched:
            self._watched.remove(training)
            self._ended[training.prefix] = training.context

    def config(self) -> dict[str, Any]:
        """The setups of all networks: at the top level without a prefix, otherwise below it."""
        contexts = {**self._ended, **{one.prefix: one.context for one in self._watched}}
        return {**contexts.pop("", {}), **contexts}


_networks: weakref.WeakKeyDictionary[ActiveRun, Networks] = weakref.WeakKeyDictionary()


def networks_of(run: ActiveRun) -> Networks:
    """The networks that this run watches."""
    return _networks.setdefault(run, Networks())


def _name(trainings: Iterable[Training], taken: set[str]) -> None:
    kinds = {id(one): class_name(one.model) for one in trainings}
    counts = Counter(kinds.values())
    for one in trainings:
        kind = name = kinds[id(one)]
        number = 0
        while name in taken or (counts[kind] > 1 and not number):
            number += 1
            name = f"{kind}_{number}"
        one.prefix = name
        taken.add(name)
