"""Importing NumPy while files load: its threads wait, and everything else is as after `import numpy`."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from pulseboard.read.numpy_import import import_numpy

def threads():
    return len(os.listdir("/proc/self/task"))

import_numpy() if sys.argv[1] == "ours" else __import__("numpy")
imported = threads()
import numpy as np
square = np.arange(360_000.0).reshape(600, 600)
total = float((square @ square).sum())
print(imported, threads(), total)
"""


def run(way: str) -> list[str]:
    """The threads after the import and after a product of matrices, and the product's sum."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", PROGRAM, way]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other libraries for linear algebra")
def test_threads_of_numpy_start_with_their_first_work():
    plain, ours = run("plain"), run("ours")
    if plain[0] == "1":
        pytest.skip("this NumPy starts no threads: one core, or it is not from a wheel")
    assert ours[0] == "1"
    assert ours[1:] == plain[1:], "as many threads, and the same product"
