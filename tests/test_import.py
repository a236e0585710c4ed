"""`import pulseboard` costs a training job almost nothing."""

import json
import subprocess
import sys

import pytest
from log_directories import write_run

# torch and numpy are the job's choice; a server or a terminal library has no place in it.
HEAVY = {"torch", "numpy", "starlette", "uvicorn", "rich", "watchfiles", "pandas", "polars", "pyarrow", "tensorboard"}

IMPORT = """
import sys, time
before = time.process_time()
import pulseboard
secs = time.process_time() - before
import json
print(json.dumps({"secs": secs, "modules": sorted(sys.modules)}))
"""


def in_a_fresh_process(code):
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_import_takes_less_than_a_tenth_of_a_second():
    # Processor time, best of five: wall time would measure what else the machine is doing.
    assert min(in_a_fresh_process(IMPORT)["secs"] for _ in range(5)) < 0.1


def test_import_loads_nothing_heavy():
    loaded = {name.partition(".")[0] for name in in_a_fresh_process(IMPORT)["modules"]}
    assert "pulseboard" in loaded
    assert loaded & HEAVY == set()


def test_import_loads_no_reader_and_no_writer_before_first_use():
    loaded = in_a_fresh_process(IMPORT)["modules"]
    assert [
        name
        for name in loaded
        if name.startswith(("pulseboard.read", "pulseboard.cli", "pulseboard.tbformat", "pulseboard.rundir"))
    ] == []


@pytest.mark.parametrize(
    ("work", "not_loaded"),
    [
        ("pulseboard.read('.')", {"torch", "starlette", "uvicorn", "rich", "pandas", "polars", "pyarrow"}),
        ("from pulseboard.cli import main; main(['du', '.', '--json'])", {"torch", "starlette", "uvicorn", "pandas"}),
    ],
)
def test_reading_loads_only_what_it_needs(tmp_path, work, not_loaded):
    code = (
        "import contextlib, io, json, os, sys, pulseboard\n"
        f"os.chdir({str(tmp_path)!r})\n"
        f"with contextlib.redirect_stdout(io.StringIO()): exec({work!r})\n"
        "print(json.dumps({'modules': sorted(sys.modules)}))"
    )
    loaded = {name.partition(".")[0] for name in in_a_fresh_process(code)["modules"]}
    assert loaded & not_loaded == set()


def test_reading_event_files_loads_nothing_that_takes_longer_than_a_small_log(tmp_path):
    write_run(tmp_path / "one")
    code = (
        "import json, sys, pulseboard\n"
        f"assert len(pulseboard.read({str(tmp_path)!r})) == 1\n"
        "print(json.dumps({'modules': sorted(sys.modules)}))"
    )
    loaded = set(in_a_fresh_process(code)["modules"])
    assert loaded & {"dataclasses", "inspect", "numpy", "pulseboard.read.format", "pulseboard.read.parsed_run"} == set()


def test_every_public_name_exists():
    code = "import json, pulseboard as pb\nfor name in pb.__all__: getattr(pb, name)\nprint(json.dumps(pb.__all__))"
    assert "read" in in_a_fresh_process(code)


def test_an_unknown_attribute_is_named_in_the_error():
    import pulseboard

    with pytest.raises(AttributeError, match="'pulseboard' has no attribute 'nonsense'"):
        pulseboard.nonsense  # noqa: B018
