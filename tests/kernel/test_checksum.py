"""Checksums: the CPU instruction, the table and the published values agree."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from pulseboard.kernel import writer


def unmasked(crc: int) -> int:
    """The plain CRC32C of a masked one."""
    rotated = (crc - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


# RFC 3720, B.4; the first is the check value in every catalog of CRCs.
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
def test_checksums_match_published_values(data, crc):
    assert unmasked(writer.checksum(data)) == crc
    assert unmasked(writer.checksum_portable(data)) == crc


@given(st.binary(max_size=300), st.integers(0, 15))
def test_instruction_and_table_agree_on_any_length_and_address(data, skip):
    view = memoryview(data)[skip:]
    assert writer.checksum(view) == writer.checksum_portable(view) == masked_crc32c(bytes(view))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 4095, 4096, 1 << 20])
def test_instruction_and_table_agree_on_long_input(size):
    data = bytes(i * 31 & 0xFF for i in range(256)) * (size // 256 + 1)
    assert writer.checksum(data[:size]) == writer.checksum_portable(data[:size])


@given(st.binary(max_size=2000))
def test_a_frame_is_the_one_tensorboard_writes(payload):
    length = struct.pack("<Q", len(payload))
    crcs = (struct.pack("<I", masked_crc32c(part)) for part in (length, payload))
    assert writer.frame(payload) == length + next(crcs) + payload + next(crcs)
