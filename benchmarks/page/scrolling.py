"""Scrolling a page of many cards: the time between frames, and the memory of all cards drawn."""

from __future__ import annotations

import statistics

from benchmarks.harness.dashboards import PULSEBOARD, Dashboard
from benchmarks.harness.report import Check, Part, table
from benchmarks.page.browser import View, chromium
from benchmarks.page.loading import memory_figures, memory_sample

PIXELS_PER_SEC = 2_000
# A 60 Hz screen has 16.67 ms between frames; up to this much more is the clock's rounding.
FRAME_MS, ROUNDING_MS, LONG_MS = 16.7, 0.5, 50.0


def measure(dashboards: dict[str, Dashboard], *, runs: int, rounds: int) -> Part:
    """Draw every card, then scroll."""
    rows, checks, samples, held = [], [], {}, {}
    for name, dashboard in dashboards.items():
        with chromium() as browser:
            view = View(browser, dashboard, runs=runs)
            view.open()
            cards = view.load_every_card()
            held[name] = [memory_sample(view.memory())]
            # TensorBoard once: a round takes it a minute.
            frames = view.scroll(pixels_per_sec=PIXELS_PER_SEC, rounds=rounds if name == PULSEBOARD else 1)
            view.close()
        late_share = sum(ms > FRAME_MS + ROUNDING_MS for ms in frames) / len(frames)
        long = sum(ms > LONG_MS for ms in frames)
        samples[name] = {"frame_ms": frames, "cards": cards, **held[name][0]}
        figures = (
            f"{late_share:.1%}",
            f"{long / len(frames):.1%}",
            f"{statistics.mean(frames):.1f} ms",
            f"{max(frames):.0f} ms",
        )
        rows.append((name, str(cards), str(len(frames)), *figures))
        if name == PULSEBOARD:
            label = f"scrolling {cards} cards x {runs} runs: frames over {LONG_MS:.0f} ms"
            checks += [
                Check(label, f"{long} of {len(frames)}, the longest {max(frames):.0f} ms", "0", long == 0),
                Check(f"the same: frames over {FRAME_MS} ms", f"{late_share:.1%}"),
            ]
    memory_checks, memory_rows = memory_figures(held, "with all those cards drawn")
    text = (
        f"Every card is drawn once, then the wheel turns at {PIXELS_PER_SEC:,} pixels per second to the end and back, "
        f"{rounds} times, for TensorBoard once; the time between frames is that of `requestAnimationFrame`, without a "
        "graphics card. TensorBoard's groups are all opened, and its pages of cards made as long.\n\n"
        + table(("page", "cards", "frames", f"over {FRAME_MS} ms", f"over {LONG_MS:.0f} ms", "mean", "longest"), rows)
        + "\n\nWhat the page holds then:\n\n"
        + table(("page", "heap", "renderer"), memory_rows)
    )
    return Part("Scrolling", text, [*checks, *memory_checks], samples)
