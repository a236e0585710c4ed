"""One setting: its name, type, default and meaning, and the conversion of a value to that type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulseboard.core.errors import PulseboardError

VARIABLE_PREFIX = "PULSEBOARD_"

_TYPE_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class BadSetting(PulseboardError, ValueError):
    """A setting that does not exist, or whose value has the wrong type."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A declaration. Sinks declare their own settings next to their code: `@sink(id=..., settings=...)`."""

    name: str  # as an argument of init, and at the top level of a settings file
    help: str = ""
    type: type = str  # str, int, float or bool
    default: Any = None
    key: str | None = None  # in the sink's block of a settings file; None if it cannot be set there

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return VARIABLE_PREFIX + self.name.upper()

    def convert(self, value: Any) -> Any:
        """`value` as the setting's type. Text from files and environment variables is parsed."""
        if value is None or (value == "" and self.type is str):
            return None
        try:
            if self.type is bool:
                return _BOOLEANS[str(value).lower()]
            if self.type is int and isinstance(value, float) and not value.is_integer():
                raise ValueError
            return self.type(value)
        except (KeyError, ValueError, TypeError):
            raise BadSetting(f"The setting {self.name!r} must be {_TYPE_WORDS[self.type]}, not {value!r}.") from None
