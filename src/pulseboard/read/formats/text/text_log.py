"""Text that a training printed: numbers that are named by the words before them, and counts of steps or epochs.

step:12/1750 train_loss:3.2 train_time:1024ms step_avg:93.1ms           modded-nanogpt
s:12 trl:3.296 and s:12 tel:3.276                                        llm.c: train and validation loss
2026-05-20 00:03:47,930 - root - INFO - step: 10  loss:  6.1746  tps: 10,270  mfu: 38.46%   torchtitan
iter 120: loss 3.2011, time 130.2ms, mfu 38.1%                           nanoGPT
[2019-01-22 16:48:59.604]  Step 55000   [0.828 sec/step, loss=0.10395]   Tacotron
:: step     100 [ 12.5%] \\ loss 2.3456 | norm  0.1234 | 125.3k tps      Pulseboard's console
Epoch 3/10, then 782/782 - 5s - loss: 1.2 - val_loss: 1.4                 Keras
Epoch: [3][40/1251]  Time 0.5 (0.6)  Loss 6.9 (7.0)                       PyTorch's ImageNet example
**** EPOCH 019 ****, then mean loss: 0.07                                 a header, metrics on the lines below
Testing..., then epoch: 0, loss is: 0.49                                  an evaluation that is announced
Test Error: , then Accuracy: 64.4%, Avg loss: 1.07                        PyTorch's quickstart
{'loss': 2.5, 'learning_rate': 5e-05, 'epoch': 0.3}                       Hugging Face Trainer
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.appending.growing_runs import Found, GrowingRuns
from pulseboard.read.appending.text_rules import TextRules
from pulseboard.read.axis.build import Column
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.key_values import key_values
from pulseboard.read.parsing.line_file import LineFile, threads_for
from pulseboard.read.parsing.line_table import LineTable
from pulseboard.read.parsing.lines_before import EvaluationLines, NamedRows
from pulseboard.read.parsing.table_runs import searched
from pulseboard.read.parsing.text import MAX_LINE_CHARS, encoding_of
from pulseboard.read.parsing.text_table import looks_like_training, metrics_and_counts

_HOW = "Read as text: numbers are named by the words before them."
# Counts that are steps or nothing.
_WITHIN_EPOCHS = frozenset({"iter", "batch", "step"})
# What a number at the end of an unfinished line may consist of.
_NUMBER_BYTES = b"0123456789.,eE+-naifNAIFkKMGT"


def _is_training_log(candidate: Candidate) -> bool:
    if encoding_of(candidate.head) is None:
        return False
    table = LineTable(key_values, headings=True)
    table.feed("\n".join([*candidate.lines, ""]).encode("utf-8", "replace"))
    columns, _ = metrics_and_counts(table.columns(), table.row_count)
    return looks_like_training(columns, given=candidate.given)


class TextLog:
    """The numbers in a text log."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = LineFile(path)
        self._table = LineTable(key_values, threads=threads_for(path), size_bytes=os.path.getsize(path), headings=True)
        self._lines = EvaluationLines(NamedRows(self._table))
        self._runs = GrowingRuns(path, search=_searched, how=_HOW)
        self.read_on()

    def read_on(self) -> bool:
        """Read the lines that were added since. False if the file must be read from the start, in another object."""
        return self._file.feed(self._lines)

    def runs(self) -> Iterator[RunData]:
        """The runs in it."""
        notes, unfinished = [], b""
        if self._file.has_unfinished_line:
            unfinished = self._lines.marked(self._file.rest.rstrip(_NUMBER_BYTES))
            what = "The last line has no line break: a number at its end was left out."
            notes.append(Note("info", what, self.path))
        if skipped := self._file.skipped_lines:
            what = f"Left out {plural(skipped, 'line')} of more than {MAX_LINE_CHARS >> 20} MB."
            notes.append(Note("info", what, self.path))
        yield from self._runs.update(self._table.rows(unfinished), notes=notes)


def _searched(columns: Mapping[str, Column], row_count: int) -> Found:
    kept, kept_count = metrics_and_counts(columns, row_count)
    within_epochs = [name for name in kept if name in _WITHIN_EPOCHS]
    table = searched(kept, kept_count, leave_out=within_epochs)
    return Found(table, lambda: TextRules.of(columns, row_count, table))


@reader(
    id="text",
    files=("*.log", "*.txt", "*.out", "*.err", "log"),
    recognizes=_is_training_log,
    fallback=True,
    follow=following(TextLog, TextLog.runs),
)
def read_text_log(path: str) -> Iterator[RunData]:
    """Every number that recurs with a name. Wall times are the dates and times of day on the lines."""
    yield from TextLog(path).runs()
