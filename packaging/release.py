"""Makes the files of a release: `make release VERSION=0.2.0`. Nothing is uploaded; only CONFIRM=1 makes the tag.

With a version, first writes it into the package and over the changelog's unreleased part, and commits both. Stops with
a message if the tree has changes, the version was released before, or the changelog is not ready. Otherwise builds the
source archive and the wheels, and adds the SBOM, checksums and a check by twine.
"""

from __future__ import annotations

import argparse
import datetime
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
_VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_UNRELEASED = ", not released yet"


def main(argv: Sequence[str] | None = None) -> int:
    """Check, build, describe, and tag if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--prepare", metavar="VERSION", help="only write and commit this version and its changelog heading"
    )
    parser.add_argument("--tag", action="store_true", help="make the tag at the end")
    parser.add_argument("--check-only", action="store_true", help="only say what stands in the way of a release")
    args, wheel_options = parser.parse_known_args(argv)  # such as --python 3.11
    if args.prepare:
        prepare(ROOT, args.prepare, day=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
        print(f"The version is {args.prepare}, and the changelog says so.")
        return 0
    version = version_of(ROOT)
    if obstacles := find_obstacles(ROOT, version):
        sys.exit("\n".join([f"{version} cannot be released yet:", *(f"- {one}" for one in obstacles)]))
    print(f"{version} can be released.", flush=True)
    if args.check_only:
        return 0
    wheels.main(wheel_options)
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


def prepare(root: Path, version: str, *, day: str) -> None:
    """Write the version and the changelog's heading, and commit them. Exits with a message if that cannot be done."""
    if not _VERSION.fullmatch(version):
        sys.exit(f"{version} is not a version such as 0.2.0 or 0.2.0rc1.")
    if changed := _git(root, "status", "--porcelain"):
        sys.exit(f"The tree has uncommitted changes: {', '.join(line[3:] for line in changed.splitlines()[:5])}")
    package, changelog = root / "src" / "pulseboard" / "__init__.py", root / "CHANGELOG.md"
    log = changelog.read_text(encoding="utf-8")
    heading = _HEADING.search(log)
    if heading is None or not heading[1].endswith(_UNRELEASED):
        newest = heading[1] if heading else ""
        sys.exit(f"Nothing to release: the newest heading of CHANGELOG.md is {newest!r}, not 'NUMBER{_UNRELEASED}'.")
    changelog.write_text(log.replace(heading[0], f"## {version}, {day}", 1), encoding="utf-8")
    text = package.read_text(encoding="utf-8")
    package.write_text(text.replace(f'"{version_of(root)}"', f'"{version}"', 1), encoding="utf-8")
    _git(root, "commit", "--quiet", "--message", f"Version {version}", "--", str(package), str(changelog))


def find_obstacles(root: Path, version: str) -> list[str]:
    """What stands in the way of a release, one sentence each."""
    found = []
    if not _VERSION.fullmatch(version):
        found.append(f"{version} is not a version such as 0.2.0 or 0.2.0rc1")
    if changed := _git(root, "status", "--porcelain"):
        found.append(f"the tree has uncommitted changes: {', '.join(line[3:] for line in changed.splitlines()[:5])}")
    if _git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists: raise __version__ in src/pulseboard/__init__.py")
    newest = _HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
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
