"""Text of unknown origin as lines: any Unicode encoding, any line break, no line longer than memory likes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

# A logged row is a few kilobytes. One line of a text sample or of a document on one line may be a few million.
MOST_LINE_CHARS = 16 << 20
_PIECE = 1 << 20
_BREAKS = re.compile(r"\r\n|\n|\r")

_MARKS = (  # UTF-32 before UTF-16, whose mark it begins with
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
    whole: bool = True  # a line break follows; false only for the last, which may still be being written
    too_long: bool = False  # then the text is left out


def encoding_of(head: bytes) -> str | None:
    """The encoding that text beginning with these bytes has; None where they are no text."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:4096]
    nulls = sample.count(0)
    if nulls:
        # Western text in UTF-16 without a mark has a zero in every other byte.
        for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
            if nulls == zeros.count(0) and nulls > 0.4 * len(sample):
                return encoding
        return None
    controls = sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b\b" for byte in sample)
    undecodable = sample.decode("utf-8", "replace").count("\ufffd")
    # A few stray bytes are an old encoding; more of them are something else than text.
    return None if controls + undecodable > 0.1 * len(sample) else "utf-8"


def decoded_lines(data: bytes, *, cut: bool) -> list[str]:
    """The lines in a file's first bytes; `cut` says that the file goes on, so that the last may be a part."""
    encoding = encoding_of(data)
    if encoding is None:
        return []
    lines = _BREAKS.split(data.decode(encoding, "replace"))
    return lines[:-1] if cut or lines[-1] == "" else lines


def lines_of(path: str) -> Iterator[Line]:
    """Every line of a text file; none where its bytes are no text. Raises OSError where it cannot be read."""
    with open(path, "rb") as stream:
        piece = stream.read(_PIECE)
        encoding = encoding_of(piece)
        if encoding is None:
            return
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
        rest, number, skipping = "", 0, False
        while piece:
            text = rest + decode(piece)
            piece = stream.read(_PIECE)
            # A lone \r at the end may be half of a line break.
            held = text.endswith("\r") and bool(piece)
            *lines, rest = _BREAKS.split(text[:-1] if held else text)
            for line in lines:
                number += 1
                yield Line(number, "" if skipping else line.replace("\0", ""), too_long=skipping)
                skipping = False
            if len(rest) > MOST_LINE_CHARS:
                rest, skipping = "", True
            if held:
                rest += "\r"
        rest += decode(b"", True)
        if rest or skipping:
            yield Line(number + 1, rest.replace("\0", ""), whole=False, too_long=skipping)
