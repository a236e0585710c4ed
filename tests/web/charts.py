"""Helpers for charts: pointing, dragging, and reading pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

from web.waiting import settle, until

_FIND_COLOR = """([selector, color, tolerance, minAlpha]) => {
    const canvas = document.querySelector(selector);
    const wanted = color.match(/\\d+/g).map(Number);
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const rows = new Set();
    let [count, left, right, top, bottom] = [0, Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] < minAlpha || !wanted.every((value, k) => Math.abs(data[i + k] - value) < tolerance)) continue;
        const [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
        count++;
        rows.add(y);
        [left, right] = [Math.min(left, x), Math.max(right, x)];
        [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
    if (count === 0) return [0, 0, 0, 0, 0, 0];
    return [count, rows.size / height, left / width, right / width, top / height, bottom / height];
}"""


class ColoredPixels(NamedTuple):
    """How many pixels have a color, the fraction of rows with such a pixel, and their extent as fractions."""

    pixels: int
    rows: float
    left: float
    right: float
    top: float
    bottom: float


def card(page: Any, tag: str = "train/loss") -> Any:
    """The card of a tag, scrolled into view and drawn."""
    found = page.locator(f"article.scalar[data-tag='{tag}']").first
    found.scroll_into_view_if_needed()
    found.locator("canvas").wait_for()
    settle(page)
    return found


def chart(page: Any, tag: str = "train/loss") -> Any:
    """The plot area of a card, without its axes."""
    return card(page, tag).locator(".u-over")


def point(page: Any, over: Any, across: float, down: float = 0.5) -> None:
    """Move the pointer to a position in a chart, given as fractions of its width and height."""
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)


def hover(page: Any, tag: str = "train/loss", *, across: float = 0.5, down: float = 0.5) -> Any:
    """The tooltip at a position in a card's chart."""
    point(page, chart(page, tag), across, down)
    page.locator(".tooltip").wait_for()
    settle(page)  # it may have been there before, and still show another position
    return page.locator(".tooltip")


def read_x(page: Any, tag: str = "train/loss", *, across: float) -> str:
    """The x that the tooltip shows at a position."""
    text: str = hover(page, tag, across=across).locator("th.name").inner_text()
    return text


def read_step(page: Any, tag: str = "train/loss", *, across: float) -> int:
    """The step at a position."""
    return int(read_x(page, tag, across=across).replace(",", "").replace("−", "-"))


def drag(page: Any, over: Any, start: tuple[float, float], end: tuple[float, float], *, key: str | None = None) -> None:
    """Drag from one position in a chart to another, optionally with a key held down."""
    if key:
        page.keyboard.down(key)
    point(page, over, *start)
    page.mouse.down()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * end[0], box["y"] + box["height"] * end[1], steps=6)
    page.mouse.up()
    if key:
        page.keyboard.up(key)


def color_of_run(page: Any, run: str) -> str:
    """The color of a run, read from its checkbox in the list."""
    color: str = page.get_by_label(f"Show {run}", exact=True).evaluate("box => getComputedStyle(box).borderColor")
    return color


def theme_color(page: Any, name: str) -> str:
    """A color of the style sheet, as `rgb(r, g, b)`."""
    color: str = page.evaluate(
        """name => {
            const probe = document.createElement('div');
            probe.style.color = `var(--${name})`;
            document.body.append(probe);
            const color = getComputedStyle(probe).color;
            probe.remove();
            return color;
        }""",
        name,
    )
    return color


def find_color(page: Any, tag: str, color: str, *, tolerance: int = 40, min_alpha: int = 100) -> ColoredPixels:
    """Find the pixels of about a color in a chart. Pixels with less than `min_alpha` (of 255) do not count."""
    selector = f"article.scalar[data-tag='{tag}'] canvas"
    return ColoredPixels(*page.evaluate(_FIND_COLOR, [selector, color, tolerance, min_alpha]))


def faint_pixels(page: Any, tag: str, color: str, *, tolerance: int = 60, max_alpha: int = 90) -> int:
    """How many pixels have a faint color: a band, a shaded range, or a raw curve behind a smoothed one."""
    visible = find_color(page, tag, color, tolerance=tolerance, min_alpha=12).pixels
    return visible - find_color(page, tag, color, tolerance=tolerance, min_alpha=max_alpha).pixels


def painted(page: Any, selector: str) -> bool:
    """Wait until a canvas is no longer blank."""
    page.wait_for_selector(selector)
    until(
        page,
        """(selector) => {
            const canvas = document.querySelector(selector);
            if (!canvas || !canvas.width) return false;
            return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v > 0);
        }""",
        arg=selector,
    )
    return True
