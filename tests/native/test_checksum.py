"""Checksums: the CPU's way, the table's way and the published values agree."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from pulseboard.native import kernel


def unmasked(crc: int) -> int:
    """The plain CRC32C behind a stored one."""
    rotated = (crc - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


# RFC 3720, B.4; the first is the check value every catalogue of CRCs lists.
@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
        (b"", 0),
    ],
    ids=["digits", "zeros", "ones", "rising", "falling", "nothing"],
)
def test_published_values_come_out(data, crc):
    assert unmasked(kernel.checksum(data)) == crc
    assert unmasked(kernel.checksum_portable(data)) == crc


def test_the_way_of_this_cpu_has_a_name():
    assert kernel.checksum_by() in {"sse4.2", "armv8-crc", "table"}


@given(st.binary(max_size=300), st.integers(0, 15))
def test_both_ways_agree_on_bytes_of_any_length_at_any_address(data, skip):
    view = memoryview(data)[skip:]
    assert kernel.checksum(view) == kernel.checksum_portable(view) == masked_crc32c(bytes(view))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 4095, 4096, 1 << 20])
def test_both_ways_agree_on_long_bytes(size):
    data = bytes(i * 31 & 0xFF for i in range(256)) * (size // 256 + 1)
    assert kernel.checksum(data[:size]) == kernel.checksum_portable(data[:size])


@given(st.binary(max_size=2000))
def test_a_frame_is_what_tensorboard_would_write(payload):
    length = struct.pack("<Q", len(payload))
    crcs = (struct.pack("<I", masked_crc32c(part)) for part in (length, payload))
    assert kernel.frame(payload) == length + next(crcs) + payload + next(crcs)
