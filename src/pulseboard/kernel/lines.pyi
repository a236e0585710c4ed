TEXT: int
DELIMITED: int
JSON: int
NUMBER: int
TIME: int
UTC: int
EMPTY: int
WORD: int
IGNORED: int
MAX_SHAPES: int

# (hash, line, [(start, end, type, value)])
Shape = tuple[int, bytes, list[tuple[int, int, int, float]]]

class LineScanner:
    def __init__(
        self, mode: int, *, delimiter: str = ",", decimal_comma: bool = False, max_shapes: int = ...
    ) -> None: ...
    def feed(
        self, data: bytes | bytearray | memoryview, start: int = 0, *, last: bool = False
    ) -> tuple[int, Shape | None]: ...
    def learn(self, hash: int, id: int) -> None: ...
    @property
    def lines(self) -> int: ...
    @property
    def shapes(self) -> int: ...
    def take(self) -> tuple[bytearray, bytearray, bytearray, bytearray]: ...
