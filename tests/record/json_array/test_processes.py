"""Forked and killed processes leave a valid JSON log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from record.json_array.arrays import line, steps

from pulseboard.record.json_array.json_file import JsonFile


def run_script(script: str, *arguments: object, timeout_secs: float = 120) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_secs
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


FORK = """
import os, sys
from pulseboard.record.json_array.json_file import JsonFile
file = JsonFile(sys.argv[1], strict=True)
file.append('{"step": 0}')
for writes in (True, False):
    pid = os.fork()
    if pid == 0:
        if writes:
            file.append('{"step": 1}')
            print(file.path)
        sys.exit()
    os.waitpid(pid, 0)
file.append('{"step": 2}')
file.close()
"""


def test_a_forked_child_that_logs_has_its_own_file(path: Path) -> None:
    output = run_script(FORK, path)
    assert steps(path) == [0, 2]
    names = sorted(os.listdir(path.parent))
    assert len(names) == 2
    assert "Another process is writing this JSON log" in output
    own = path.with_name(next(name for name in names if name != "training.json"))
    assert f"{own}\n" in output
    assert steps(own) == [1]


ORPHAN = """
import os, sys
from pulseboard.record.json_array.json_file import JsonFile
file = JsonFile(sys.argv[1], strict=True)
file.append('{"step": 0}')
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(20)
    os._exit(0)
os._exit(0)
"""


def test_a_child_that_outlives_its_parent_does_not_hold_the_file(path: Path) -> None:
    """A data loader's worker may: the resumed run goes on with the same file."""
    subprocess.run([sys.executable, "-c", ORPHAN, str(path)], timeout=300, check=True)
    file = JsonFile(path, strict=True)
    file.append(line(1))
    file.close()
    assert steps(path) == [0, 1]


KILLED = """
import json, mmap, os, random, signal, sys, time
from pulseboard.record.json_array.json_file import JsonFile

path, kills, rng = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
returned = mmap.mmap(-1, 8)  # how many calls have returned, seen by both processes
ticks = 0

def refuse(word):
    raise AssertionError(word)

def child(first):
    file = JsonFile(path, strict=True)
    for step in range(first, 10**9):
        # Now and then one that fills more than a page.
        pad = rng.choice([5000, 9000]) if rng.random() < 0.01 else rng.randrange(300)
        file.append(json.dumps({"log": "step", "step": step, "pad": "x" * pad}))
        returned[:] = (step + 1).to_bytes(8, "little")
        if step % 50 == 0:
            file.tick()

count = 0
for n in range(kills):
    before = int.from_bytes(returned[:], "little")
    pid = os.fork()
    if pid == 0:
        try:
            rng.seed(n)
            child(count)
        finally:
            os._exit(1)
    while int.from_bytes(returned[:], "little") == before:
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the child failed"
        time.sleep(0.0002)
    time.sleep(rng.random() * 0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    sure = int.from_bytes(returned[:], "little")
    with open(path, "rb") as stream:
        found = [record["step"] for record in json.loads(stream.read(), parse_constant=refuse)]
    assert found == list(range(len(found))), found
    # The last one may be in the file although the call had no time to return.
    assert len(found) in (sure, sure + 1), (len(found), sure)
    count = len(found)
    returned[:] = count.to_bytes(8, "little")
assert not os.path.exists(path + ".damaged")
print(count)
"""


def test_a_killed_process_leaves_every_record_whose_call_had_returned(path: Path) -> None:
    logged = int(run_script(KILLED, path, 60, 1))
    assert logged > 60
    file = JsonFile(path, strict=True)
    file.close()
    assert steps(path) == list(range(logged))
    assert os.listdir(path.parent) == ["training.json"]
