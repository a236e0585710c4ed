"""Installs a built wheel like a stranger would, and times the way to the first chart: `make wheels-check`.

A clean virtual environment, without a compiler and Node.js on the PATH: install the wheel, run `pulseboard doctor` and
`pulseboard demo`, and request the page and a chart from it over HTTP.

    python packaging/wheel_check.py dist/pulseboard-0.1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl
    python packaging/wheel_check.py dist              the wheels for the Pythons found here, and the source archive
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from wheels import find_pythons

MAX_SECS = 60.0
DEMO_SECS = 20
FORBIDDEN = ("gcc", "cc", "clang", "g++", "node", "npm")


def main(argv: Sequence[str] | None = None) -> int:
    """Check wheels; exit code 1 if one takes longer than allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", type=Path, nargs="+", help="wheels, or a directory of them")
    parser.add_argument("--max-secs", type=float, default=MAX_SECS, help="from the install to the first chart (60)")
    args = parser.parse_args(argv)
    late = 0
    for wheel, python in _pairs(args.what):
        secs = check(wheel, python)
        late += secs["total"] > args.max_secs
        print(f"{wheel.name}: " + ", ".join(f"{name} {value:.1f} s" for name, value in secs.items()), flush=True)
    if late:
        print(f"{late} took longer than {args.max_secs:.0f} s.", file=sys.stderr)
    return 1 if late else 0


def _pairs(given: Sequence[Path]) -> list[tuple[Path, str]]:
    """Wheels for this machine, each with an interpreter that it is for."""
    wheels = [wheel for path in given for wheel in ([path] if path.is_file() else sorted(path.glob("*.whl")))]
    pythons = {"cp" + one.version.replace(".", ""): one.executable for one in find_pythons()}
    found = []
    for wheel in wheels:
        tag = wheel.name.split("-")[2]
        if wheel.name.endswith(f"_{platform.machine()}.whl") and tag in pythons:
            found.append((wheel, pythons[tag]))
    if not found:
        sys.exit(f"No wheel for this machine and one of its Pythons in: {', '.join(map(str, given))}")
    return found


def check(wheel: Path, python: str) -> dict[str, float]:
    """Install and try one wheel. Returns the seconds of each part; raises if something does not work."""
    secs: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="pulseboard-wheel-") as scratch:
        home = Path(scratch)
        began = mark = time.monotonic()
        cpu_began = _children_cpu_secs()

        def lap(name: str) -> None:
            nonlocal mark
            secs[name], mark = time.monotonic() - mark, time.monotonic()

        subprocess.run([python, "-m", "venv", str(home / "venv")], check=True)
        lap("environment")
        binaries = home / "venv" / "bin"
        # Nothing but the environment itself is on the PATH.
        env = {"PATH": str(binaries), "HOME": os.environ.get("HOME", scratch), "XDG_CACHE_HOME": str(home / "cache")}
        env |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
        env["PULSEBOARD_DATA_DIR"] = str(home / "data")
        assert not any(shutil.which(name, path=env["PATH"]) for name in FORBIDDEN)
        install = [str(binaries / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, str(wheel.resolve())], env=env, check=True, cwd=scratch)
        lap("install")
        _first_chart(binaries / "pulseboard", env=env, directory=home)
        lap("first chart")
        secs["total"] = time.monotonic() - began
        secs["processor time"] = _children_cpu_secs() - cpu_began
        doctor = subprocess.run([str(binaries / "pulseboard"), "doctor", "--json"], env=env, stdout=subprocess.PIPE)
        broken = [one for one in json.loads(doctor.stdout)["checks"] if one["state"] == "broken"]
        assert not broken, broken
    return secs


def _children_cpu_secs() -> float:
    """What a busy machine does not change, unlike the other times."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _first_chart(pulseboard: Path, *, env: dict[str, str], directory: Path) -> None:
    """Run the demo to its end; while it runs, request the page and a chart."""
    command = [str(pulseboard), "demo", "--seconds", str(DEMO_SECS), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, env=env, cwd=directory, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        line = next((line for line in demo.stdout if "Pulseboard is at" in line), "")
        found = re.search(r"http://\S+?/(?=\s)", line)
        assert found, "the demo did not print its address"
        page = _get(found[0]).decode()
        assert "<script" in page, "the page is not in the wheel"
        points = _wait_for_chart(found[0])
        demo.stdout.read()
    assert demo.returncode == 0, f"the demo ended with {demo.returncode}"
    print(f"  a chart of {points} bytes from {found[0]}", flush=True)


def _wait_for_chart(url: str) -> int:
    """Bytes of the first chart's data."""
    query = json.dumps({"runs": ["healthy"], "tags": ["train/loss"], "buckets": 400}).encode()
    ends = time.monotonic() + DEMO_SECS
    while True:
        try:
            data = _get(url + "api/window", body=query)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise AssertionError(error.read().decode()) from error
            data = b""
        if len(data) > 200 or time.monotonic() > ends:
            assert data, "no chart before the demo ended"
            return len(data)
        time.sleep(0.5)


def _get(url: str, *, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request, timeout=30) as response:
        read: bytes = response.read()
        return read


if __name__ == "__main__":
    sys.exit(main())
