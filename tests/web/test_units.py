"""The unit tests of the page's pure functions, run by Node.js. `make check` lints the page and checks its types."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_passes_its_unit_tests(monkeypatch):
    if not (ROOT / "web/node_modules/.package-lock.json").exists():
        pytest.skip("The page's packages are missing: run npm ci in web/, or make clean page")
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    sys.modules.pop("page", None)
    import page

    done = page.run_npm("run", "test", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-4000:]
