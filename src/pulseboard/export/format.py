"""Output formats: how one declares itself, and which ones there are.

A format is one file in `formats/`: a function that writes series to a stream, declared with `@export_format`.
To add a format, add a file there; the command line and the server offer it from then on.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from pulseboard.core.errors import PulseboardError
from pulseboard.core.series import Series

NamedSeries = tuple[str, Series]
"""The name of a run, and one of its series."""

WriteSeries = Callable[[Iterator[NamedSeries], IO[bytes]], None]
"""Writes all series, in the given order, to a stream that need not be seekable."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A declared output format."""

    id: str  # also the suffix of the files
    media_type: str
    write: WriteSeries
    require_packages: Callable[[], None]  # raises MissingPackage if an optional package is not installed
    source: str  # the Python file that declares it


_formats: dict[str, ExportFormat] = {}


def export_format(
    *, id: str, media_type: str, require_packages: Callable[[], None] = lambda: None
) -> Callable[[WriteSeries], WriteSeries]:
    """Declare a function as the writer of one output format. `id` is the name of the format and its file suffix."""

    def declare(write: WriteSeries) -> WriteSeries:
        source = sys.modules[write.__module__].__file__ or "?"
        before = _formats.get(id)
        if before is not None and before.source != source:
            raise PulseboardError(
                f"Two export formats have the id {id!r}. Rename one of them: {before.source} and {source}"
            )
        _formats[id] = ExportFormat(id, media_type, write, require_packages, source)
        return write

    return declare


@functools.cache
def export_formats() -> dict[str, ExportFormat]:
    """Every output format by id, in order of id."""
    from pulseboard.export import formats

    for module in pkgutil.iter_modules(formats.__path__):
        importlib.import_module(f"{formats.__name__}.{module.name}")
    return dict(sorted(_formats.items()))
