"""Cases made of arrays, for tests that need more than a tape."""

import numpy as np
import pytest

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.profile import load_profile
from pulseboard.diagnose.roles.resolve import changes_for, read_tracks
from pulseboard.diagnose.track import Track


def build_case(curves, *, config=None, profile="general", **more):
    tracks = {}
    for tag, values in curves.items():
        steps, values = values if isinstance(values, tuple) else (np.arange(len(values)), values)
        tracks[tag] = Track(tag, changes=changes_for(tag))
        tracks[tag].append(np.asarray(steps), np.asarray(steps) * 1.0, np.asarray(values, np.float64))
    reading = read_tracks(tracks)
    return Case("run", "path", tracks, reading, load_profile(profile), context=Context.of(config or {}), **more)


@pytest.fixture
def case():
    return build_case


@pytest.fixture
def falling():
    """A healthy training loss of some steps."""

    def make(n=400, *, start=4.5, floor=1.5, noise=0.05, seed=0):
        rng = np.random.default_rng(seed)
        return floor + (start - floor) * np.exp(-np.arange(n) / (n / 6)) + rng.normal(size=n) * noise

    return make
