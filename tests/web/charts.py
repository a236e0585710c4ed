"""A chart as a reader has it: pointed at, dragged across, and looked at pixel by pixel."""

from __future__ import annotations

from typing import Any, NamedTuple

_LOOK = """([selector, colour, far, faintest]) => {
    const canvas = document.querySelector(selector);
    const want = colour.match(/\\d+/g).map(Number);
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const rows = new Set();
    let [count, left, right, top, bottom] = [0, Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] < faintest || !want.every((value, k) => Math.abs(data[i + k] - value) < far)) continue;
        const [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
        count++;
        rows.add(y);
        [left, right] = [Math.min(left, x), Math.max(right, x)];
        [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
    if (count === 0) return [0, 0, 0, 0, 0, 0];
    return [count, rows.size / height, left / width, right / width, top / height, bottom / height];
}"""


class Seen(NamedTuple):
    """How many pixels have about a colour, in what share of the rows, and how far they reach, as shares too."""

    pixels: int
    rows: float
    left: float
    right: float
    top: float
    bottom: float


def card(page: Any, tag: str = "train/loss") -> Any:
    """The card of a tag, in view and drawn."""
    found = page.locator(f"article.scalar[data-tag='{tag}']").first
    found.scroll_into_view_if_needed()
    found.locator("canvas").wait_for()
    page.wait_for_timeout(200)
    return found


def chart(page: Any, tag: str = "train/loss") -> Any:
    """Where a card's curves are, without its axes."""
    return card(page, tag).locator(".u-over")


def point(page: Any, over: Any, across: float, down: float = 0.5) -> None:
    """Move the pointer to a place of a chart, as shares of its width and height."""
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)


def hover(page: Any, tag: str = "train/loss", *, across: float = 0.5, down: float = 0.5) -> Any:
    """The tooltip at a place of a card's chart."""
    point(page, chart(page, tag), across, down)
    page.locator(".tooltip").wait_for()
    return page.locator(".tooltip")


def read_x(page: Any, tag: str = "train/loss", *, across: float) -> str:
    """What the tooltip says of x at a place."""
    text: str = hover(page, tag, across=across).locator("th.name").inner_text()
    return text


def read_step(page: Any, tag: str = "train/loss", *, across: float) -> int:
    """The step at a place."""
    return int(read_x(page, tag, across=across).replace("\u202f", "").replace("−", "-"))


def drag(page: Any, over: Any, start: tuple[float, float], end: tuple[float, float], *, key: str | None = None) -> None:
    """Drag from one place of a chart to another, with a key held down."""
    if key:
        page.keyboard.down(key)
    point(page, over, *start)
    page.mouse.down()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] * end[0], box["y"] + box["height"] * end[1], steps=6)
    page.mouse.up()
    if key:
        page.keyboard.up(key)


def colour_of(page: Any, run: str) -> str:
    """The colour of a run, as its box in the list has it."""
    colour: str = page.get_by_label(f"Draw {run}", exact=True).evaluate("box => getComputedStyle(box).borderColor")
    return colour


def look_for(page: Any, tag: str, colour: str, *, far: int = 40, faintest: int = 100) -> Seen:
    """Where a chart has about a colour. `faintest` is the least opacity that counts, of 255."""
    selector = f"article.scalar[data-tag='{tag}'] canvas"
    return Seen(*page.evaluate(_LOOK, [selector, colour, far, faintest]))


def faint_pixels(page: Any, tag: str, colour: str, *, most: int = 90) -> int:
    """How many pixels have a colour laid on thinly: a band, a shade, a raw curve behind a smoothed one."""
    thin = look_for(page, tag, colour, far=60, faintest=12).pixels
    return thin - look_for(page, tag, colour, far=60, faintest=most).pixels
