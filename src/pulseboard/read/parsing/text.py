"""Lines of text of unknown origin: any Unicode encoding, any line break, bounded memory for a line of any length."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pulseboard.rundir.regular_file import open_regular

# A logged row is a few kilobytes. A text sample, or a document on one line, may be a few megabytes.
MAX_LINE_CHARS = 16 << 20
_CHUNK_BYTES = 1 << 20
_MAX_HOLES = 3
# Those that text has none of: it has line breaks, tabs, colors, and backspaces in progress bars.
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b\b")

_BYTE_ORDER_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, without its line break."""

    number: int  # from 1
    text: str
    complete: bool = True  # ends in a line break; only the last line may not, and it may still be being written
    too_long: bool = False  # then the text is left out


def encoding_of(head: bytes) -> str | None:
    """The encoding of a text that begins with these bytes; None if it is not text."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:4096]
    nulls = sample.count(0)
    if nulls:
        # Western text in UTF-16 without a mark has a zero in every other byte.
        for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
            if nulls == zeros.count(0) and nulls > 0.4 * len(sample):
                return encoding
        # A crash, or a program that keeps writing into a file that was emptied, leaves holes in a text.
        if len(re.findall(rb"\0+", sample)) > _MAX_HOLES or nulls == len(sample):
            return None
        sample = sample.replace(b"\0", b"")
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    undecodable = sample.decode("utf-8", "replace").count("\ufffd")
    # A few stray bytes come from an old encoding; with more of them it is not text.
    return None if controls + undecodable > 0.1 * len(sample) else "utf-8"


def is_binary(head: bytes) -> bool:
    """Whether a file that begins with these bytes is not text. Zeros alone are a file that is being written."""
    return bool(head.strip(b"\0")) and encoding_of(head) is None


def decoded_lines(head: bytes, *, truncated: bool) -> list[str]:
    """The lines in a file's first bytes. If they are `truncated`, the last one may be incomplete and is left out."""
    encoding = encoding_of(head)
    if encoding is None:
        return []
    lines = _split(head.decode(encoding, "replace"))
    return lines[:-1] if truncated or lines[-1] == "" else lines


def lines_of(path: str) -> Iterator[Line]:
    """Every line of a text file; none if it is not text. Raises OSError if it cannot be read."""
    with open_regular(path) as stream:
        chunk = stream.read(_CHUNK_BYTES)
        encoding = encoding_of(chunk)
        if encoding is None:
            return
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
        rest, number, too_long = "", 0, False
        while chunk:
            text = rest + decode(chunk)
            chunk = stream.read(_CHUNK_BYTES)
            # A lone \r at the end may be half of a line break.
            half_break = text.endswith("\r") and bool(chunk)
            *lines, rest = _split(text[:-1] if half_break else text)
            for line in lines:
                number += 1
                yield Line(number, "" if too_long else line.replace("\0", ""), too_long=too_long)
                too_long = False
            if len(rest) > MAX_LINE_CHARS:
                rest, too_long = "", True
            if half_break:
                rest += "\r"
        rest += decode(b"", True)
        if rest or too_long:
            yield Line(number + 1, rest.replace("\0", ""), complete=False, too_long=too_long)


def _split(text: str) -> list[str]:
    """The parts between line breaks of any kind. Unlike `splitlines`, this does not split at form feeds."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")
