"""Indexes with good checksums and bad contents: what a hostile program could put into the cache."""

import struct

_MASK = (1 << 64) - 1
_FOOTER = struct.Struct("<QQQ8s")


def index_sum(data, start=0):
    """The checksum of kernel/c/index/index_format.c."""
    padded = bytes(data) + b"\0" * (-len(data) % 8)
    total = start
    for (word,) in struct.iter_unpack("<Q", padded):
        product = (total ^ word ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
        total = (product & _MASK) ^ (product >> 64)
    return total


def with_head(index, change):
    """The index with `change` applied to the bytes of its head, and a footer that fits."""
    at, length, checksum, magic = _FOOTER.unpack(index[-_FOOTER.size :])
    head = bytes(index[at : at + length])
    assert index_sum(head) == checksum
    changed = bytes(change(head))
    return index[:at] + changed + _FOOTER.pack(at, len(changed), index_sum(changed), magic)
