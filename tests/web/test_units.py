"""What Node.js checks of the page: the tests of its pure functions, and its types."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["test", "check"])
def test_the_page_passes_its_own_tests_and_types(script, monkeypatch):
    if not (ROOT / "web" / "node_modules").exists():
        pytest.skip("The page's packages are missing: npm ci in web/, or make clean page")
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    sys.modules.pop("page", None)
    import page

    done = page.run_npm("run", script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-4000:]
