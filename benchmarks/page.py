"""The page benchmark: the dashboard's page beside TensorBoard's in a real Chromium. Part of `make bench`.

    .venv/bin/python benchmarks/page.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/page.py --quick        a smoke test; its figures mean nothing

Both servers run over the same logs and have loaded them before a page is opened. The exit code is 0 when everything
was measured, 1 when a page fails, and 2 when the scripts that make the logs, Chromium or playwright are missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from logs import SharedMissing, check_shared, make_runs
from measure import Quiet, ReaderFailed, Sample, interleaved, median, warm
from report import (
    REPOSITORY,
    Check,
    Part,
    checks_table,
    commit,
    machine,
    shown_path,
    table,
    today,
    versions,
    write_section,
)
from servers import Dashboard, pulseboard, tensorboard

try:
    from pages import BrowserMissing, View, chromium, chromium_path, cpu_secs
except ModuleNotFoundError as error:
    print(f"benchmarks/page.py: {error}. Install it with: pip install playwright", file=sys.stderr)
    sys.exit(2)

BENCH = REPOSITORY / ".bench"
PACKAGES = ("playwright", "tensorboard", "tensorboard-data-server", "uvicorn")
TAG = "train/loss"
SUBJECTS = ("first", "load", "memory", "scrolling")
OURS, THEIRS = "Pulseboard", "TensorBoard"
PIXELS_A_SECOND = 2_000
PAGE_KB = 250
# A screen of 60 Hz gives 16.67 ms between frames; what is above by no more than this is the clock's rounding.
FRAME_MS, ROUNDING_MS, LONG_MS = 16.7, 0.5, 50.0


def main() -> int:
    """Measure, print, and write where asked."""
    options = _parser().parse_args()
    try:
        check_shared(options.shared)
        chromium_path()
    except (SharedMissing, BrowserMissing) as error:
        print(f"benchmarks/page.py: {error}", file=sys.stderr)
        return 2
    measured = commit()
    quiet = Quiet(wait_secs=0.0 if options.quick else options.quiet_wait, level=options.quiet_level)
    try:
        parts = _measure(options, quiet)
    except ReaderFailed as error:
        print(f"benchmarks/page.py: {error}", file=sys.stderr)
        return 1
    body = _body(parts, quiet, measured=measured, options=options)
    print(body)
    if options.only:
        return 0
    if options.write:
        write_section(options.write, name="page", body=body)
    (BENCH / ("page_quick.json" if options.quick else "page.json")).write_text(
        json.dumps({part.title: part.samples for part in parts}, indent=1)
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test on few runs, one sample each")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, help="measure only these; nothing is written then")
    parser.add_argument("--repeat", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--quiet-wait", type=float, default=30, metavar="SECS", help="wait so long for a quiet moment")
    parser.add_argument("--quiet-level", type=float, default=0.15, metavar="CORES", help="what others may use then")
    parser.add_argument("--shared", type=Path, default=REPOSITORY.parent / "shared" / "bench", metavar="DIR")
    return parser


def _measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    quick, shared, data = options.quick, options.shared, BENCH / "serve"
    data.mkdir(parents=True, exist_ok=True)
    _say("making the logs")
    runs, steps = (10, 200) if quick else (100, 2_000)
    few = make_runs(data, runs=runs, tags=5 if quick else 20, steps=steps, shared=shared)
    many = make_runs(data, runs=runs, tags=12 if quick else 50, steps=steps, shared=shared)
    repeat = 1 if quick else options.repeat
    parts, wanted = [], options.only or SUBJECTS
    if {"first", "load", "memory"} & set(wanted):
        with _both(few, data / "cache") as boards:
            for subject, measure in (
                ("first", lambda: _first_chart(boards, quiet, runs=runs, steps=steps, repeat=repeat)),
                ("load", lambda: _first_load(boards, runs=runs)),
                ("memory", lambda: _memory(boards, runs=runs, repeat=1 if quick else 3)),
            ):
                if subject in wanted:
                    _say(subject)
                    parts.append(measure())
    if "scrolling" in wanted:
        with _both(many, data / "cache") as boards:
            _say("scrolling")
            parts.append(_scrolling(boards, runs=runs, rounds=1 if quick else 3))
    return parts


@contextlib.contextmanager
def _both(logs: Path, cache: Path) -> Iterator[dict[str, Dashboard]]:
    """Both servers, each with all of the logs in memory."""
    names = sorted(path.name for path in logs.iterdir() if path.is_dir())
    last = int(json.loads(logs.with_suffix(".json").read_text())["steps"]) - 1
    warm(logs)
    with pulseboard(logs, cache=cache) as ours, tensorboard(logs) as theirs:
        for board in (ours, theirs):
            board.wait_for_chart(TAG, names, last_step=last)
        _wait_for_diagnosis(ours)
        yield {OURS: ours, THEIRS: theirs}


def _wait_for_diagnosis(ours: Dashboard) -> None:
    """Until every run is diagnosed: the work of a server's first minute would meet only some of the samples."""
    end = time.perf_counter() + 120
    while time.perf_counter() < end:
        _, body = ours.request("GET", "/api/diagnosis", **{"accept-encoding": "identity"})
        if not json.loads(body)["pending"]:
            return
        time.sleep(0.5)
    raise ReaderFailed("Pulseboard had not diagnosed every run after 120 s.")


# ---- the first chart


def _first_chart(boards: dict[str, Dashboard], quiet: Quiet, *, runs: int, steps: int, repeat: int) -> Part:
    with chromium() as browser:

        def opening(board: Dashboard) -> Callable[[], Sample]:
            def opened() -> Sample:
                view = View(browser, board, runs=runs)
                before = cpu_secs()
                try:
                    secs = view.open()
                    return {"secs": secs, "cpu_s": cpu_secs() - before}
                finally:
                    view.close()

            return opened

        readers = {name: opening(board) for name, board in boards.items()}
        for name, open_once in readers.items():  # the browser's own first page is not counted
            _say(f"  {name}, once for the browser: {open_once()['secs']:.2f} s")
        samples = interleaved(readers, repeat=dict.fromkeys(readers, repeat), quiet=quiet)
    secs = {name: median(found, "secs") for name, found in samples.items()}
    rows = []
    for name, found in samples.items():
        taken = [sample["secs"] for sample in found]
        rows.append((name, f"{secs[name]:.2f} s", f"{min(taken):.2f} to {max(taken):.2f} s"))
    ratio = secs[THEIRS] / secs[OURS]
    checks = [
        Check(
            f"first chart of {runs} runs drawn in the browser",
            f"{ratio:.1f} times sooner than TensorBoard",
            "5",
            ratio >= 5,
        )
    ]
    text = (
        f"From the navigation to a painted frame in which one chart has the curves of all {runs} runs x {steps:,} "
        "steps, in a browser context without a cache, on a server that has loaded everything. Ours is the Scalars "
        "tab, TensorBoard's its Time Series tab, where it shows all runs by itself. The browser has no graphics card: "
        "TensorBoard's WebGL is done in software, which here takes as long as its SVG does.\n\n"
        + table(("page", "median", "from least to most"), rows)
    )
    return Part("The first chart on the screen", text, checks, samples)


# ---- the first load


def _first_load(boards: dict[str, Dashboard], *, runs: int) -> Part:
    sizes = {}
    with chromium() as browser:
        for name, board in boards.items():
            view = View(browser, board, runs=runs)
            sizes[name] = view.weigh()
            view.close()
    rows = [
        (name, f"{size['page'] / 1e3:,.0f} kB", f"{size['data'] / 1e3:,.0f} kB", f"{sum(size.values()) / 1e3:,.0f} kB")
        for name, size in sizes.items()
    ]
    ours = sizes[OURS]["page"] / 1e3
    checks = [Check("first load of the page, compressed", f"{ours:.0f} kB", f"below {PAGE_KB} kB", ours < PAGE_KB)]
    text = (
        "Bytes over the wire, headers and all, until the first cards are drawn. The page is its code, styles and "
        "pictures; data are the server's answers, of which Pulseboard sends columns to the same machine "
        "uncompressed.\n\n" + table(("page", "the page", "data", "together"), rows)
    )
    return Part("The first load", text, checks, sizes)


# ---- memory


def _memory(boards: dict[str, Dashboard], *, runs: int, repeat: int) -> Part:
    samples: dict[str, list[Sample]] = {name: [] for name in boards}
    for _ in range(repeat):
        for name, board in boards.items():
            with chromium() as browser:  # a fresh one: a renderer that has seen other pages keeps their memory
                view = View(browser, board, runs=runs)
                view.open()
                view.settle()
                held = view.holds()
                view.close()
            samples[name].append({"heap_mb": held.heap_mb, "renderer_mb": held.renderer_mb})
    checks, rows = _weighed(samples, f"with its first cards of {runs} runs drawn")
    text = (
        "An open page three seconds after its first chart, its garbage collected: the JavaScript heap, and the "
        "proportional set size of the renderer's process, which holds the page's buffers and pictures too.\n\n"
        + table(("page", "heap", "renderer"), rows)
    )
    return Part("Memory of the page", text, checks, samples)


def _weighed(samples: dict[str, list[Sample]], when: str) -> tuple[list[Check], list[tuple[str, str, str]]]:
    middle = {key: {name: median(found, key) for name, found in samples.items()} for key in ("renderer_mb", "heap_mb")}
    checks = [
        Check(
            f"{what}, {when}",
            f"{figures[OURS]:.0f} MB, TensorBoard {figures[THEIRS]:.0f} MB",
            "below TensorBoard's",
            figures[OURS] < figures[THEIRS],
        )
        for what, figures in (("renderer's memory", middle["renderer_mb"]), ("heap", middle["heap_mb"]))
    ]
    rows = [(name, f"{middle['heap_mb'][name]:.0f} MB", f"{middle['renderer_mb'][name]:.0f} MB") for name in samples]
    return checks, rows


# ---- scrolling


def _scrolling(boards: dict[str, Dashboard], *, runs: int, rounds: int) -> Part:
    rows, checks, every, held = [], [], {}, {}
    for name, board in boards.items():
        with chromium() as browser:
            view = View(browser, board, runs=runs)
            view.open()
            cards = view.load_every_card()
            _say(f"  {name}: {cards} cards are loaded")
            weight = view.holds()
            # TensorBoard once: a round takes it a minute.
            scrolled = view.scroll(pixels_a_second=PIXELS_A_SECOND, rounds=rounds if name == OURS else 1)
            view.close()
        held[name] = [{"heap_mb": weight.heap_mb, "renderer_mb": weight.renderer_mb}]
        frames = scrolled.frame_ms
        late = sum(ms > FRAME_MS + ROUNDING_MS for ms in frames) / len(frames)
        long = sum(ms > LONG_MS for ms in frames)
        every[name] = {"frame_ms": frames, "cards": cards, **held[name][0]}
        figures = (
            f"{late:.1%}",
            f"{long / len(frames):.1%}",
            f"{statistics.mean(frames):.1f} ms",
            f"{max(frames):.0f} ms",
        )
        rows.append((name, str(cards), str(len(frames)), *figures))
        if name == OURS:
            what = f"scrolling {cards} cards x {runs} runs: frames over {LONG_MS:.0f} ms"
            checks.append(Check(what, f"{long} of {len(frames)}, the longest {max(frames):.0f} ms", "0", long == 0))
            what = f"the same: frames over {FRAME_MS} ms"
            checks.append(Check(what, f"{late:.1%}"))
    more, weights = _weighed(held, "with all those cards drawn")
    text = (
        f"Every card is drawn once, then the wheel turns at {PIXELS_A_SECOND:,} pixels a second to the end and back, "
        f"{rounds} times, TensorBoard's once; the time between frames is what `requestAnimationFrame` tells, without "
        "graphics card. TensorBoard's groups are all opened, and its pages of cards made as long.\n\n"
        + table(
            ("page", "cards", "frames", f"over {FRAME_MS} ms", f"over {LONG_MS:.0f} ms", "mean", "longest"),
            rows,
        )
        + "\n\nWhat the page holds then:\n\n"
        + table(("page", "heap", "renderer"), weights)
    )
    return Part("Scrolling", text, [*checks, *more], every)


# ---- the report


def _body(parts: list[Part], quiet: Quiet, *, measured: str, options: argparse.Namespace) -> str:
    checks = [check for part in parts for check in part.checks]
    if options.quick:
        checks = [Check(check.what, check.figure) for check in checks]
    owed = [check for check in checks if check.holds is not None]
    failing = sum(not check.holds for check in owed)
    verdict = "Nothing is judged." if not owed else f"{failing} of {len(owed)} do not hold." if failing else "All hold."
    command = "python benchmarks/page.py" + (" --quick" if options.quick else "")
    command += f" --write {shown_path(options.write)}" if options.write else ""
    return "\n\n".join(
        [
            "## The page",
            *(["**A smoke test on small sets: these figures mean nothing.**"] if options.quick else []),
            f"Measured {today()} on {machine()}; {quiet.told()}.\nPulseboard at {measured}; {versions(*PACKAGES)}, "
            f"Chromium {_chromium_version()}.\nCommand: `{command}`",
            "### What is owed",
            f"Ratios of medians of this run. {verdict}",
            checks_table(checks),
            *(block for part in parts for block in (f"### {part.title}", part.text)),
        ]
    )


def _chromium_version() -> str:
    with chromium() as browser:
        return browser.version


def _say(line: str) -> None:
    print(f"benchmarks/page.py: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
