import pytest
from log_directories import values, write_run

import pulseboard as pb


@pytest.fixture
def read_bad_file(tmp_path):
    """Reads a run of one bad file together with a good run; returns the bad run and its note, if it has one."""
    write_run(tmp_path / "good", (0, 42.0))

    def read(data, *, name="events.out.tfevents.1"):
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / name).write_bytes(data)
        runs = pb.read(tmp_path)
        assert set(runs) == {"good", "bad"}
        assert values(runs["good"]) == [42.0]
        assert runs["good"].notes() == []
        notes = runs.notes()
        assert notes == runs["bad"].notes()
        assert len(notes) <= 1
        if notes:
            assert notes[0].path == str(tmp_path / "bad" / name)
            assert notes[0].path in str(notes[0])
        return runs["bad"], notes[0] if notes else None

    return read
