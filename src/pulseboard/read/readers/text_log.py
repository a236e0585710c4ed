"""What a training printed: lines that name a step and the numbers at that step.

step:12/1750 train_loss:3.2 train_time:1024ms step_avg:93.1ms           modded-nanogpt
s:12 trl:3.296 and s:12 tel:3.276                                        llm.c: train and validation loss
2026-05-20 00:03:47,930 - root - INFO - step: 10  loss:  6.1746  tps: 10,270  mfu: 38.46%   torchtitan
iter 120: loss 3.2011, time 130.2ms, mfu 38.1%                           nanoGPT
step 250: train loss 1.9710, val loss 2.0704                             nanoGPT
[2019-01-22 16:48:59.604]  Step 55000   [0.828 sec/step, loss=0.10395]   Tacotron
:: step     100 [ 12.5%] \\ loss 2.3456 | norm  0.1234 | 125.3k tps      Pulseboard's console
Epoch 3/10, then 782/782 - 5s - loss: 1.2 - val_loss: 1.4                 Keras
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.read.points import Points, step_of, time_of
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.csv_history import METRIC_NAME
from pulseboard.read.text import lines_of

# Lines that tell of steps are short; a longer one is a sample or a program's source, where they are not looked for.
_MOST_LINE_CHARS = 4096
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COUNT = r"(\d{1,3}(?:,\d{3})+|\d{1,18})"
_STEP = re.compile(
    r"(?<![\w/.-])(?:global[ _]step|step|iteration|iter|update)\s*(?:[:=#]\s*)?\[?\s*" + _COUNT + r"(?![\w.])"
    r"(?:\s*/\s*\d+)?\]?",
    re.IGNORECASE,
)
_SHORT_STEP = re.compile(r"^\s*s:" + _COUNT + r"(?=\s)")
_EPOCH = re.compile(r"(?<![\w/.-])epoch\s*(?:[:=#]\s*)?\[?\s*(\d{1,9})(?![\w.])(?:\s*/\s*\d+)?\]?", re.IGNORECASE)
_KERAS = re.compile(r"^\s*(\d+)/\1 .*? - ")  # the last of the epoch's progress lines
_VALUE = (
    r"(?P<value>[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
    r"|nan|inf(?:inity)?))(?P<unit>(?-i:[kKMGT])(?![A-Za-z])|)"
)
_NAME = r"(?<![\w./])(?P<name>[A-Za-z_][\w./]*(?:[ ](?:loss|acc|accuracy|norm|time|lr|rate|error|ppl|perplexity))?)"
_PAIR = re.compile(_NAME + r"(?P<sign>\s*[:=]\s*|\s+)" + _VALUE + r"(?P<behind>.?)", re.IGNORECASE)
# Without a sign between name and number, only these are taken for names.
_BARE = re.compile(
    r"(?:.*[ _/.])?(?:loss|acc|accuracy|norm|time|dt|lr|mfu|ppl|perplexity|error|reward|aux|imbal|sol|bpb)",
    re.IGNORECASE,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3,6})?(?![\d.])")
_UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SHORT_NAMES = {"trl": "train_loss", "tel": "val_loss"}
_NO_TAGS = {"step", "global_step", "iter", "iteration", "s", "eta"}


def _is_training_log(opening: Opening) -> bool:
    """Whether at least two lines tell of steps, and of something that a training measures."""
    found = 0
    parser = _Parser()
    for text in opening.lines:
        if any(METRIC_NAME.search(tag) for tag, _ in parser.line(text)[1]):
            found += 1
            if found == 2 or opening.named:
                return True
    return False


@reader(id="text", files=("*.log", "*.txt", "*.out", "*.err"), sees=_is_training_log, generic=True)
def read_text_log(path: str) -> Iterator[History]:
    """One run. Wall times are those that stand before a line, else NaN."""
    points, parser, notes = Points(), _Parser(), list[Note]()
    for line in lines_of(path):
        step, pairs = parser.line(line.text, whole=line.whole)
        for tag, value in pairs:
            points.add(tag, step=step, value=value, wall_time=parser.wall_time)
        if not line.whole and line.text.strip():
            notes = [Note("info", "The last line has no line break: a number at its end was left out.", path)]
    yield History(points.series(), notes=notes)


class _Parser:
    """Keeps what lines say for those below them: the epoch that Keras prints on a line of its own."""

    def __init__(self) -> None:
        self.wall_time = math.nan
        self._epoch: int | None = None

    def line(self, text: str, *, whole: bool = True) -> tuple[int, list[tuple[str, float]]]:
        """(step, tags with their values) of a line; no tags where it tells of no step.

        Of a line that is not whole, a number at the very end is left out: it may lack digits.
        """
        if len(text) > _MOST_LINE_CHARS:
            return 0, []
        text = _COLOURS.sub("", text)
        step, rest = self._step(text)
        if step is None:
            return 0, []
        pairs: dict[str, float] = {}
        for found in _PAIR.finditer(rest):
            name = found["name"]
            if found["sign"].isspace() and not _BARE.fullmatch(name):
                continue
            if found["behind"] == "" and not whole:
                continue
            tag = _SHORT_NAMES.get(name, name.strip().replace(" ", "_"))
            if tag.lower() not in _NO_TAGS:
                value = float(found["value"].replace(",", ""))
                pairs.setdefault(tag, value * _UNITS.get(found["unit"].lower(), 1.0))
        if pairs:
            time = _TIME.search(text)
            wall = time_of(time[0]) if time else None
            self.wall_time = math.nan if wall is None else wall
        return step, list(pairs.items())

    def _step(self, text: str) -> tuple[int | None, str]:
        """The step of a line, and the text behind it."""
        if found := _STEP.search(text) or _SHORT_STEP.search(text):
            return step_of(float(found[1].replace(",", ""))), text[found.end() :]
        if found := _EPOCH.search(text):
            self._epoch = int(found[1])
            return self._epoch, text[found.end() :]
        if self._epoch is not None and (found := _KERAS.search(text)):
            return self._epoch, text[found.end() - 3 :]
        return None, ""
