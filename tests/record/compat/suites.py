"""Runs the public test suites of tensorboardX's and PyTorch's writers on ours: `make writer-suites`.

Each suite runs twice, with the original writer and with `pulseboard.SummaryWriter` in its place. Nothing of them is in
this repository: pip downloads the source distribution of the installed tensorboardX, and PyTorch's packages do not
contain its tests, so `--pytorch` takes test/test_tensorboard.py of a checkout, with its directory expect/.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

SUITES = Path(__file__).parents[3] / "build" / "suites"
HERE = Path(__file__).parent


def main() -> int:
    """Print one row per suite, and the tests that pass only with the original."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pytorch", type=Path, help="test/test_tensorboard.py of a PyTorch checkout")
    options = parser.parse_args()
    suites = {f"tensorboardX {version('tensorboardX')}": _tensorboardx()}
    if options.pytorch is not None:
        suites[f"PyTorch {version('torch')}"] = options.pytorch.resolve()
    else:
        print("PyTorch's packages do not contain its tests. For them: --pytorch CHECKOUT/test/test_tensorboard.py\n")
    print("| Suite | Tests | Original passes | Ours passes | Only the original |\n| --- | --- | --- | --- | --- |")
    behind: list[str] = []
    for name, path in suites.items():
        original, ours = (_results(path, writer=writer) for writer in ("original", "pulseboard"))
        only = sorted(test for test, passed in original.items() if passed and not ours.get(test))
        print(
            f"| {name} | {len(original)} | {sum(original.values())} | {sum(ours.values())} | {len(only)} |", flush=True
        )
        behind += only
    if behind:
        print("\nOnly the original passes:", *behind, sep="\n  ")
    return 0


def _tensorboardx() -> Path:
    """The tests in the source distribution of the installed version, downloaded once."""
    release = f"tensorboardX=={version('tensorboardX')}"
    directory = SUITES / release
    if not directory.exists():
        with tempfile.TemporaryDirectory() as download:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "tensorboardX"]
            subprocess.run([*pip, "--dest", download, release], check=True)
            (archive,) = Path(download).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(directory, filter="data")
    (tests,) = directory.glob("*/tests")
    return tests


def _results(path: Path, *, writer: str) -> dict[str, bool]:
    """Whether each test of a suite passes. Skipped ones are left out."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        # -c: the suite is not ours, so neither are its warnings.
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(path.parent)]
        command += [
            "--continue-on-collection-errors",
            "-p",
            "replaced_writer",
            "--junitxml",
            str(report),
            "-p",
            "no:cacheprovider",
            str(path),
        ]
        # An installed tensorboardX, not the one next to the tests.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "PYTHONSAFEPATH": "1",
            "SUITE_WRITER": writer,
            "MPLBACKEND": "agg",
        }
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=3600)
        if not report.exists():
            sys.exit(f"The suite could not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return {
            f"{case.get('classname')}.{case.get('name')}": case.find("failure") is None and case.find("error") is None
            for case in cases
            if case.find("skipped") is None
        }


if __name__ == "__main__":
    sys.exit(main())
