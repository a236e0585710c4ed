"""The configuration of an active run: a dictionary with attributes that saves itself when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulseboard.core.config import as_mapping


class RunConfig(dict[str, Any]):
    """`config.lr`, `config["lr"]` and `config.update({"lr": 0.1})` all work, for reading and for changing."""

    def __init__(self, values: Mapping[str, Any], on_change: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(values)
        object.__setattr__(self, "_on_change", on_change)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(map(str, self)) or "empty"
            raise AttributeError(f"The config has no {name!r}. It is: {known}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._changed({name: value})

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._changed({})

    def update(self, values: Any = None, /, *, allow_val_change: bool = True, **more: Any) -> None:
        """Set several values: a mapping, an argparse namespace, a dataclass or keywords. Existing ones may change."""
        changed = {**as_mapping(values), **more}
        super().update(changed)
        self._changed(changed)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The value of `name`, which is set to `default` if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def _changed(self, values: Mapping[str, Any]) -> None:
        self._on_change(values)

    def __reduce__(self) -> Any:  # a copy, as a checkpoint holds it, is a plain dictionary
        return dict, (dict(self),)
