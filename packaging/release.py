"""Makes the files of a release: `make release`. Nothing is uploaded, and the tag is made only with CONFIRM=1.

Stops with a message if the tree has changes, the version was released before, or the changelog is not ready. Otherwise
builds the source archive and the wheels, and adds the SBOM, checksums and a check by twine.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import wheels

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SBOM = ROOT / "build" / "sbom.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Check, build, describe, and tag if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", action="store_true", help="make the tag at the end")
    parser.add_argument("--check-only", action="store_true", help="only say what stands in the way of a release")
    args = parser.parse_args(argv)
    version = version_of(ROOT)
    if obstacles := find_obstacles(ROOT, version):
        sys.exit("\n".join([f"{version} cannot be released yet:", *(f"- {one}" for one in obstacles)]))
    print(f"{version} can be released.", flush=True)
    if args.check_only:
        return 0
    wheels.main([])
    tools = wheels.environment(sys.executable, "release", ["twine>=5"])
    files = sorted([*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")])
    wheels.run([str(tools), "-m", "twine", "check", "--strict", *map(str, files)])
    if not SBOM.exists():
        sys.exit("There is no build/sbom.json: run `make sbom`.")
    files.append(Path(shutil.copy(SBOM, DIST / "sbom.json")))
    (DIST / "SHA256SUMS").write_text(checksums(files), encoding="utf-8")
    print((DIST / "SHA256SUMS").read_text(encoding="utf-8"), end="")
    if args.tag:
        wheels.run(["git", "tag", "--annotate", f"v{version}", "--message", f"Pulseboard {version}"])
        print(f"Tagged v{version}. To publish: git push origin v{version}, then: twine upload dist/*.whl dist/*.tar.gz")
    else:
        print("No tag was made; `make release CONFIRM=1` makes it.")
    return 0


def version_of(root: Path) -> str:
    """The version that the package states."""
    text = (root / "src" / "pulseboard" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    assert found, "src/pulseboard/__init__.py has no __version__"
    return found[1]


def find_obstacles(root: Path, version: str) -> list[str]:
    """What stands in the way of a release, one sentence each."""
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        found.append(f"{version} is not a version such as 0.2.0 or 0.2.0rc1")
    if changed := _git(root, "status", "--porcelain"):
        found.append(f"the tree has uncommitted changes: {', '.join(line[3:] for line in changed.splitlines()[:5])}")
    if _git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists: raise __version__ in src/pulseboard/__init__.py")
    newest = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    heading = newest[1] if newest else ""
    if not re.fullmatch(rf"{re.escape(version)}, \d{{4}}-\d\d-\d\d", heading):
        found.append(f"the newest heading of CHANGELOG.md is {heading!r}, not '{version}, YYYY-MM-DD'")
    return found


def checksums(files: Sequence[Path]) -> str:
    """Lines as `sha256sum` prints them."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
