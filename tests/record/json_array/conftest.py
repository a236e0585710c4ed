"""The JSON log in a temporary directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pulseboard.record.json_array.json_file import JsonFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "output" / "training.json"


@pytest.fixture
def open_file(path: Path) -> Iterator[Callable[..., JsonFile]]:
    opened = []

    def make(**options: Any) -> JsonFile:
        file = JsonFile(path, **{"strict": True, **options})
        opened.append(file)
        return file

    yield make
    for file in opened:
        file.close()
