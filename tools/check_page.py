"""Runs the scripts of web/package.json that `make check` and `make format` need.

python tools/check_page.py           lint and check types
python tools/check_page.py --fix     format
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
CHECKS = ("lint", "check")
FIXES = ("format",)

sys.path.insert(0, str(ROOT / "packaging"))
from page import run_npm  # noqa: E402


def main(arguments: list[str]) -> int:
    """Run each script; return the number of those that failed."""
    scripts = FIXES if arguments == ["--fix"] else CHECKS
    existing = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["scripts"]
    try:
        # npm writes this file last, so an interrupted installation is repeated.
        if not (WEB / "node_modules/.package-lock.json").exists():
            run_npm("ci", "--no-audit", "--no-fund", check=True)
        return sum(_failed(script) for script in scripts if _is_there(script, existing))
    except FileNotFoundError:
        print("The page was not checked: npm is missing. Install Node.js 20 or newer.", file=sys.stderr)
        return 1


def _is_there(script: str, existing: dict[str, str]) -> bool:
    if script not in existing:
        print(f"web/package.json has no script {script!r}; skipped.", file=sys.stderr)
    return script in existing


def _failed(script: str) -> bool:
    done = run_npm("run", "--silent", script)
    if done.returncode:
        print(f"npm run {script} failed. To repeat it: cd web && npm run {script}", file=sys.stderr)
    return bool(done.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
