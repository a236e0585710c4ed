"""Types of the kernel's face for charts; curves.pyx says what each does."""

from typing import Any

# Any contiguous buffer of float64: a numpy array, an array.array, a memoryview.
_Floats = Any
_Rows = tuple[
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
    bytearray,
]

class Pyramid:
    def extend(self, values: _Floats) -> None: ...
    @property
    def points(self) -> int: ...
    @property
    def held_bytes(self) -> int: ...

def extent(
    values: _Floats, pyramid: Pyramid | None, start: int, end: int
) -> tuple[float, float, float, int, int, int, int, int, int, int, int]: ...
def places(x: _Floats, origin: float, low: float, high: float) -> tuple[int, int]: ...
def edges(low: float, high: float, columns: int, logarithmic: bool) -> list[float]: ...
def bucket(
    x: _Floats,
    values: _Floats,
    pyramid: Pyramid | None,
    start: int,
    end: int,
    *,
    origin: float,
    low: float,
    high: float,
    columns: int,
    logarithmic: bool,
) -> _Rows: ...
def smooth_debiased(
    values: _Floats, weight: float, out: _Floats, state: tuple[float, int] = ...
) -> tuple[float, int]: ...
def smooth_faded(x: _Floats, values: _Floats, weight: float, unit: float, out: _Floats) -> None: ...
def smooth_gaussian(values: _Floats, sigma: float, out: _Floats) -> None: ...
def smooth_mean(values: _Floats, width: int, out: _Floats) -> None: ...
def narrowed(values: _Floats) -> bytearray | None: ...
