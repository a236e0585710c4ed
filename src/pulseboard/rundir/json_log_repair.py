"""Damaged JSON logs: whether a file is a valid array, and which records of a damaged one are complete."""

from __future__ import annotations

import json
import re

from pulseboard.rundir.json_log import encode

_VALID_START = re.compile(r"\s*\[?\s*\{")
_NEXT_RECORD = re.compile(r"\{")
_NEXT_LINE = re.compile(r"\n[\s,\x00]*(?=\{)")


def is_valid_array(data: bytes) -> bool:
    """Whether these bytes are an array of objects in strict JSON."""
    try:
        items = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def _refuse(word: str) -> float:
    raise ValueError(word)


def complete_records(data: bytes) -> list[str]:
    """Every complete record in damaged bytes, as lines of strict JSON, in order.

    After a damaged part a record counts only if it starts a line and has a kind, so that a fragment of a broken
    record is not mistaken for one.
    """
    text = data.decode("utf-8", "replace")
    decoder, records, at, after_damage = json.JSONDecoder(), [], 0, not _VALID_START.match(text)
    while match := (_NEXT_LINE if after_damage else _NEXT_RECORD).search(text, at):
        start = match.end() if after_damage else match.start()
        try:
            record, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at, after_damage = start + 1, True
            continue
        if after_damage and "log" not in record:
            at = start + 1
            continue
        records.append(encode(record))
        at, after_damage = end, False
    return records
