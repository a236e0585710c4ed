"""The same truth as TensorBoard: every run, tag, step, wall time and value of real logs, bit for bit."""

from pathlib import Path

import pytest
from reference import assert_same_run, runs_by_tensorboard

import pulseboard as pb

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
PROJECTS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir()) if CORPUS.is_dir() else []


@pytest.mark.skipif(not PROJECTS, reason=f"the corpus of real logs is absent: {CORPUS}")
@pytest.mark.parametrize("project", PROJECTS)
def test_a_real_log_reads_as_tensorboard_reads_it(project):
    root = CORPUS / project
    log = pb.read(root)
    directories = runs_by_tensorboard(root)
    assert {alias for run in log.values() for alias in (run.aliases or (run.name,))} == set(directories)
    for name, directory in directories.items():
        assert_same_run(log[name], directory)
