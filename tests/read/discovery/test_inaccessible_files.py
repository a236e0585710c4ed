"""Files and directories that cannot be opened: they are noted, and the rest is read."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from log_directories import values, write_run

import pulseboard as pb


def test_a_pipe_and_a_directory_named_like_event_files_are_left_out(tmp_path):
    write_run(tmp_path / "run", (0, 1.0))
    os.mkfifo(tmp_path / "run" / "pipe.tfevents")
    (tmp_path / "run" / "dir.tfevents").mkdir()
    log = pb.read(tmp_path)
    assert values(log["run"]) == [1.0]
    (note,) = log.notes()
    assert (note.level, note.path) == ("unreadable", str(tmp_path / "run" / "pipe.tfevents"))
    assert "not a regular file" in note.what


# The superuser may read everything, so another user reads. All modules are imported before the switch: their
# files may be closed to that user.
READ_AS_NOBODY = """
import json, os, sys
import numpy, pulseboard as pb, pulseboard.read.runs, pulseboard.read.event_files.run
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
log = pb.read(sys.argv[1])
print(json.dumps({
    "runs": {name: run.points for name, run in log.items()},
    "notes": [[note.level, note.what, note.path] for note in log.notes()],
}))
"""


def test_files_and_directories_without_permission_are_noted_and_the_rest_is_read(tmp_path_factory):
    root = Path(tempfile.mkdtemp())  # other users cannot enter pytest's own directories
    try:
        root.chmod(0o755)
        write_run(root / "good", (0, 1.0))
        closed_file = write_run(root / "closed_file", (0, 1.0))
        other_file = write_run(root / "closed_file", (0, 1.0), name="events.out.tfevents.2")
        write_run(root / "closed_directory", (0, 1.0))
        closed_file.chmod(0)
        (root / "closed_directory").chmod(0)
        out = subprocess.run(
            [sys.executable, "-c", READ_AS_NOBODY, str(root)], check=True, capture_output=True, text=True, cwd="/"
        )
        found = json.loads(out.stdout)
        assert other_file.exists()
        assert found["runs"] == {"good": 1, "closed_file": 1}
        assert sorted(found["notes"]) == [
            ["unreadable", "Cannot be read: Permission denied.", str(closed_file)],
            ["unreadable", "Left out a directory: Permission denied.", str(root / "closed_directory")],
        ]
    finally:
        (root / "closed_directory").chmod(0o755)
        for path in sorted(root.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        root.rmdir()
