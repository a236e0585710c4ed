"""Real logs of public projects, for tests that compare with them. They are large, so they are not in the repository."""

import os
from pathlib import Path

import pytest

CORPUS = Path(os.environ.get("PULSEBOARD_CORPUS") or Path(__file__).parents[1].parent / "shared" / "corpus")

MISSING = f"the corpus of real logs is not here (set PULSEBOARD_CORPUS to its path): {CORPUS}"


WILD = Path(os.environ.get("PULSEBOARD_WILD") or Path(__file__).parents[1].parent / "shared" / "wild")


def need_wild():
    """The directory of more real logs, of more formats. Skips the test if it is missing."""
    if not WILD.is_dir():
        pytest.skip(f"the published logs are not here (set PULSEBOARD_WILD to their path): {WILD}")
    return WILD


def need_corpus():
    """The directory of real logs. Skips the test if it is missing."""
    if not CORPUS.is_dir():
        pytest.skip(MISSING)
    return CORPUS
