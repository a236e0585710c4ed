"""Writes docs/screenshots: each tab on a desktop and a phone, light and dark. Run by `make screenshots`.

    python tests/web/screenshots.py [DIRECTORY [RUNS]]

The runs are real: real_trainings.py trains them first, which takes a few minutes, unless RUNS has them already. Look at
each picture before you commit it.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from playwright.sync_api import sync_playwright  # noqa: E402
from servers import a_server  # noqa: E402
from web.conftest import FLAGS, chromium_path  # noqa: E402
from web.every_tab import TABS  # noqa: E402
from web.real_trainings import train_all  # noqa: E402

SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
WITHOUT_DATA = ("audio",)
"""None of the trainings makes sounds."""
COLORS = 256
"""So small a palette halves the files, and it is invisible in flat drawings."""

# Nothing listens there: the pictures send nothing.
RULES = """
[[destination]]
name = "team"
webhook = "http://localhost:9/hook"

[[rule]]
runs = "^gpt"
quiet = "22:00-07:00"
stalled_secs = 900
ended = true

[[rule]]
findings = ["loss-nan", "loss-diverged"]
severity = "critical"
"""


def main() -> None:
    """Take all screenshots."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else TESTS.parent / "docs/screenshots")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        logs = Path(sys.argv[2]) if len(sys.argv) > 2 else train_all(Path(scratch) / "runs")
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        rules = Path(scratch) / "alerts.toml"
        rules.write_text(RULES, encoding="utf-8")
        with a_server(logs, Path(scratch), "--alerts", str(rules)) as server:
            server.wait_until_diagnosed()
            runs = [run["name"] for run in server.api("runs").json["runs"]]
            for theme in ("light", "dark"):
                for size, (width, height) in SIZES.items():
                    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                    page = context.new_page()
                    page.goto(f"{server.url}#scalars")
                    page.wait_for_selector("article canvas")
                    for tab in (tab for tab in TABS if tab not in WITHOUT_DATA):
                        page.goto(f"{server.url}#{tab}{_shown(tab, runs)}")
                        page.wait_for_timeout(1800)
                        path = directory / f"{tab}-{size}-{theme}.png"
                        _save(page.screenshot(), path)
                        print(f"{path.stat().st_size / 1000:6.0f} kB  {path.name}")
                    context.close()
        browser.close()


def _shown(tab: str, runs: list[str]) -> str:
    """What a tab shows: the curves that a reader knows, and two learning rates."""
    if tab in ("scalars", "timeseries"):
        return "&tagFilter=" + quote("^(train|val)/(loss|accuracy|lr|grad_norm|update_ratio)$", safe="")
    if tab == "compare":
        pair = [name for name in runs if name.endswith(("lr3e-3-seed0", "lr3e-4-seed0"))]
        return "&compare=" + quote(json.dumps(sorted(pair)), safe="")
    return "&tagFilter="


def _save(screenshot: bytes, path: Path) -> None:
    from PIL import Image

    small = Image.open(io.BytesIO(screenshot)).convert("RGB").quantize(COLORS, kmeans=1, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
