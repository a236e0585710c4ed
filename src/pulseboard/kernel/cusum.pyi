"""Types of the change detector; cusum.pyx has the documentation."""

from typing import Any

# Contiguous buffers of int64 and of float64: numpy arrays, array.arrays, memoryviews.
_Steps = Any
_Values = Any

class Cusum:
    """Finds where a series leaves its own recent level."""

    block: int
    sign: int
    use_log: bool
    threshold: float
    seen: int
    score: float
    alarms: list[dict[str, Any]]

    def __init__(
        self,
        block: int = 1,
        sign: int = 1,
        use_log: bool = False,
        threshold: float = 14.0,
        min_scale: float = 1e-3,
    ) -> None: ...
    def take(self, steps: _Steps, values: _Values) -> None: ...
    def forget(self) -> None: ...
