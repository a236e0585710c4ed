"""Lines with named numbers that are not a log: source code, settings, error messages, text that a model generated."""

from __future__ import annotations

import re

from pulseboard.read.parsing.numbers import number

_BEGINNINGS = ('File "', "Traceback", "args", "Args:")
# f"loss:{loss:.4f}" or "loss: %.4f": a program that was printed.
_FORMAT = re.compile(r"\{[^{}]*:[^{}\s]{0,8}\.?\d+[a-z%]\}|%\.?\d*[df]\b")
# 2024-05-01 10:00:00 ERROR ... | Error Number: 0
_ERROR = re.compile(r"^\W*(?:ERROR|CRITICAL|FATAL)\b|^[\d\s,.:\-T\[\]()|/]+\b(?:ERROR|CRITICAL|FATAL)\b")
# Configs: {'model': {'name': 'RCAN', 'depth': 3}}
_SETTINGS = re.compile(r"[:=]\s*\{\s*['\"]\w")
# train: weights=yolov5s.pt, cfg=, rect=False, epochs=15, batch_size=16, optimizer=SGD, cos_lr=False, patience=100
_PAIR = re.compile(r"(?:^|[\s,(\[])[A-Za-z_]\w*=([^\s,=)]*)")
_MIN_SETTINGS, _MIN_WORDS_FRAC = 8, 0.25
# **Final answer: 42** of a language model.
_BOLD = re.compile(r"(?<![*\w])\*\*[^*\s][^*]*\*\*(?!\*)")
# Total distance = 124 km + 372 km = 496 km, and speed = 14 km / 1.8 hours = 7.78 km/h
_EQUATION = re.compile(
    r"\d[\w %]*\s[+*×÷]\s[^=]*\d[^=]*=\s*\D?\s*\d|"
    r"\d[\w %]*\s[-/]\s\D?\d[\d.,]*\s(?:h|hours?|min|minutes?|s|seconds?|days?|years?|k?m|miles?|k?g)\s=\s*\D?\s*\d"
)


def is_prose(line: str) -> bool:
    """Whether the numbers of a line are neither counts nor metrics."""
    return (
        line.lstrip().startswith(_BEGINNINGS)
        or "Namespace(" in line
        or bool(_ERROR.match(line))
        or bool(("{" in line or "%" in line) and (_FORMAT.search(line) or _SETTINGS.search(line)))
        or is_settings(line)
        or bool("**" in line and _BOLD.search(line))
        or bool("=" in line and _EQUATION.search(line))
    )


def is_settings(line: str) -> bool:
    """Whether a line is a list of settings: many pairs of a name and a value, many of which are words."""
    if line.count("=") < _MIN_SETTINGS:
        return False
    values = _PAIR.findall(line)
    words = sum(number(value) is None for value in values)
    return len(values) >= _MIN_SETTINGS and words >= _MIN_WORDS_FRAC * len(values)
