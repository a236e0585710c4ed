"""Progress over event files and files of other formats, which are read one after the other."""

from __future__ import annotations

from pulseboard.read.event_files.load import Progress


class Overall:
    """Adds up the files of two steps for one callback. `pending` is the number of files of the second step."""

    def __init__(self, report: Progress, *, pending: int) -> None:
        self._report = report
        self._pending = pending
        self._first_total = 0

    def first_step(self, done: int, total: int) -> None:
        """Progress of the first step."""
        self._first_total = total
        self._report(done, total + self._pending)

    def second_step(self, done: int, total: int) -> None:
        """Progress of the second step."""
        self._report(self._first_total + done, self._first_total + total)
