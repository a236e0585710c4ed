"""Builds the documentation as a site that works offline: `make docs` writes build/site.

The pages are those of docs/ and the top directory, as they are on the repository's own pages. Links between them are
adapted, links to source code become plain text, and pages that are made from the code are added: the reference
(docs_reference.py) and one page per finding.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import docs_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DETECTORS = ROOT / "src" / "pulseboard" / "diagnose" / "detectors"
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
TOP_PAGES = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "SECURITY.md",
    "STYLE.md",
    "CODE_OF_CONDUCT.md",
)
GENERATED = {
    "reference/cli.md": docs_reference.command_page,
    "reference/python.md": docs_reference.python_page,
    "reference/http.md": docs_reference.http_page,
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def places() -> dict[Path, str]:
    """Source file -> its path on the site."""
    found = {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*")) if path.is_file()}
    found[DOCS / "README.md"] = "index.md"
    found[ROOT / "README.md"] = "readme.md"
    found |= {ROOT / name: f"project/{name.lower()}" for name in TOP_PAGES}
    found |= {path: f"findings/{path.stem.replace('_', '-')}.md" for path in sorted(DETECTORS.rglob("*.md"))}
    return found


def write_pages(directory: Path) -> None:
    """Write all pages of the site's sources."""
    where = places()
    for source, place in where.items():
        target = directory / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(adapt(source, where), encoding="utf-8")
        else:
            shutil.copy(source, target)
    for place, make in GENERATED.items():
        (directory / place).write_text(make(), encoding="utf-8")


def adapt(source: Path, where: dict[Path, str]) -> str:
    """The text of a page with links as they are on the site."""
    here = Path(where[source]).parent

    def replace(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        name, _, anchor = target.partition("#")
        if "://" in target or not name or target.startswith("mailto:"):
            return match[0]
        path = Path(os.path.normpath(source.parent / name))
        if path not in where:
            return text  # source code is not on the site
        relative = Path(os.path.relpath(where[path], here)).as_posix()
        return f"{picture}[{text}]({relative}{'#' + anchor if anchor else ''})"

    pieces = FENCE.split(source.read_text(encoding="utf-8"))
    pieces[::2] = [LINK.sub(replace, piece) for piece in pieces[::2]]
    return "".join(pieces)


def main() -> int:
    """Write the pages and run mkdocs on them; any warning is an error."""
    shutil.rmtree(PAGES, ignore_errors=True)
    write_pages(PAGES)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]
    done = subprocess.run([*command, "--config-file", str(ROOT / "packaging" / "mkdocs.yml"), "--site-dir", str(SITE)])
    if done.returncode == 0:
        pages = len(list(SITE.rglob("*.html")))
        print(f"{pages} pages, {len(list(DETECTORS.rglob('*.md')))} of them about findings: {SITE / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
