"""Random changes of bytes, decided by a seed alone."""

import random

INSERTIONS = [
    b"\0", b"\xff\xfe", b"\x1b[31m", b"\r", b"\r\n", b'"', b",", b";", b"\t", b"{", b"[", b":", b"nan", b"1e999",
    b"9" * 400, b"-", b"[" * 2000, b'{"a":' * 500, b"\x80" * 12, b"\xff" * 8, b"\x7f\xff\xff\xff", b"%00", b"../",
]  # fmt: skip
_EDGES = (0, 1, 0x7F, 0x80, 0xFF)
MAX_BYTES = 1 << 20


def mutated(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """The bytes after one to four changes. `others` are inputs to take pieces from."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(changed))
        size = rng.choice((1, 2, 4, 8, 50, 1000))
        match rng.randrange(7):
            case 0:
                changed[at : at + 1] = bytes([rng.choice((*_EDGES, rng.randrange(256)))])
            case 1 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 2:
                del changed[at : at + size]
            case 3:
                changed[at:at] = rng.choice(INSERTIONS)
            case 4:
                changed[at:at] = changed[at : at + size] * rng.choice((2, 50))
            case 5:
                other = rng.choice(others)
                start = rng.randint(0, len(other))
                changed[at:at] = other[start : start + size]
            case _:
                del changed[at:]
    return bytes(changed[:MAX_BYTES])
