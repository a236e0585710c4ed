"""Stable-baselines3's `evaluations.npz`: the episodes of every evaluation, as NumPy arrays."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.rundir.regular_file import open_regular

_MAX_BYTES = 256 << 20
_TAGS = {"results": "eval/mean_reward", "ep_lengths": "eval/mean_ep_length", "successes": "eval/success_rate"}


def _is_evaluations(candidate: Candidate) -> bool:
    return candidate.head.startswith(b"PK") and b"timesteps.npy" in candidate.head


@reader(id="sb3-evaluations", files=("evaluations*.npz",), recognizes=_is_evaluations)
def read_evaluations(path: str) -> Iterator[RunData]:
    """One run: the mean over the episodes of each evaluation, with the tags of the library's event files."""
    try:
        arrays = _arrays(path)
        steps = np.asarray(arrays["timesteps"]).astype(np.int64).reshape(-1)
        series = {}
        for name, tag in _TAGS.items():
            if name in arrays and len(arrays[name]) == len(steps):
                values = np.asarray(arrays[name], np.float64).reshape(len(steps), -1).mean(axis=1)
                nothing = np.full(len(steps), np.nan)
                series[tag] = Series(tag, steps, nothing, values, np.zeros(len(steps), np.bool_))
    except (ValueError, TypeError, KeyError, EOFError, OverflowError, zipfile.BadZipFile, NotImplementedError,
            zlib.error, struct.error, RuntimeError, OSError) as error:  # fmt: skip
        yield RunData({}, notes=[Note("damage", f"The arrays cannot be read: {error}.", path)])
        return
    yield RunData(series, axis=AxisInfo("step", ("timesteps",)))


def _arrays(path: str) -> dict[str, Any]:
    if os.path.getsize(path) > _MAX_BYTES:
        raise ValueError(f"the file is larger than {_MAX_BYTES >> 20} MiB")
    with open_regular(path) as stream, np.load(stream, allow_pickle=False) as archive:
        size = sum(info.file_size for info in archive.zip.infolist())
        if size > _MAX_BYTES:
            raise ValueError(f"the arrays are larger than {_MAX_BYTES >> 20} MiB")
        return {name: archive[name] for name in archive.files if name == "timesteps" or name in _TAGS}
