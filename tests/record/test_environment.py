"""What is recorded about the machine and the code."""

import os
import shutil
import subprocess

import pytest

from pulseboard.record.environment import describe_git


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_is_asked_without_a_lock_on_the_repository(tmp_path, monkeypatch):
    """A status that is ended while it has the lock leaves it behind, and every later commit fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print()\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *command], check=True)
    os.utime(tmp_path / "train.py", (0, 0))  # the index is out of date: a status with a lock would write it again
    index = (tmp_path / ".git" / "index").read_bytes()
    described = describe_git()
    assert described is not None
    assert not described["dirty"]
    assert (tmp_path / ".git" / "index").read_bytes() == index
