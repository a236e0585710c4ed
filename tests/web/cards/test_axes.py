"""Axes: labels that say the value they stand for, uncut; logarithmic axes on any range; a metric as the x axis."""

import numpy as np
import pytest
from servers import a_server
from web.charts import card, hover, read_x
from web.waiting import settle, until

from pulseboard import SummaryWriter

# What is written on canvases, with its place in CSS pixels and the size of the canvas.
RECORD = """
window.written = [];
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const point = this.getTransform().transformPoint(new DOMPoint(x, y));
    const width = this.measureText(text).width;
    const left = this.textAlign === 'right' || this.textAlign === 'end' ? point.x - width
        : this.textAlign === 'center' ? point.x - width / 2 : point.x;
    const tag = this.canvas.closest?.('[data-tag]')?.dataset.tag ?? null;
    const { width: canvasWidth, height: canvasHeight } = this.canvas;
    window.written.push({ tag, text, left, right: left + width, bottom: point.y, align: this.textAlign, canvasWidth,
        canvasHeight, canvas: this.canvas });
    return fillText.call(this, text, x, y, ...rest);
};
"""
# The labels of a card's last drawing.
LABELS = """tag => {
    const all = window.written.filter((one) => one.canvas.closest('[data-tag]')?.dataset.tag === tag);
    const seen = new Map(all.map((one) => [one.text + Math.round(one.left) + one.align, one]));
    return [...seen.values()].map(({ canvas, ...one }) => one);
}"""
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
STEPS = 40

CURVES = {
    "large": 85.367e9 + np.linspace(0, 3e6, STEPS),
    "nearly_one": 1 + np.linspace(-1e-7, 1e-7, STEPS),
    "tiny": np.geomspace(1e-30, 5e-30, STEPS),
    "huge": np.linspace(1e38, 3e38, STEPS),
    "falling": np.geomspace(10.0, 1e-5, STEPS),
}
# Each falls from 1 until its minimum, with the margin of 5 % of the decades, is just under a power of ten.
JUST_UNDER = {f"under_{k}": np.geomspace(1.0, (9.7 * 10.0**-k) ** (1 / 1.05), STEPS) for k in range(2, 6)}


@pytest.fixture(scope="module")
def axes(tmp_path_factory):
    logs = tmp_path_factory.mktemp("axes")
    with SummaryWriter(logs / "runs" / "a") as writer:
        for step in range(STEPS):
            writer.add_scalar("never_finite", float("nan"), step)
            # The labels of y are long, and the last label of x is at 0.956 of its range: 1h 30m.
            value, time = -1 - step * 1e-13, 1e9 + step * 5648 / (STEPS - 1)
            writer.add_scalar("ends_at_a_label", value, step, time, new_style=True, double_precision=True)
        for tag, values in {**CURVES, **JUST_UNDER}.items():
            for i, value in enumerate(values):
                # Double precision: 1 + 1e-7 is not a float32.
                writer.add_scalar(
                    tag, float(value), i * 2_000_000 // (STEPS - 1), new_style=True, double_precision=True
                )
    with a_server(logs / "runs", logs) as server:
        yield server


def value_of(label):
    unit = UNITS.get(label[-1], 1)
    return float((label[:-1] if unit > 1 else label).replace("−", "-")) * unit


def y_labels(page, tag):
    labels = [one for one in page.evaluate(LABELS, tag) if one["align"] == "right"]
    assert labels, tag
    assert min(one["left"] for one in labels) >= 0, (tag, labels)
    return [one["text"] for one in labels]


def open_recorded(pages, server, hash_):
    page = pages.open(server, "#scalars&tagFilter=zzz", wait="#main")
    page.add_init_script(RECORD)
    page.goto("about:blank")
    page.goto(server.url + hash_)
    page.wait_for_selector("article.scalar canvas")
    settle(page)
    return page


@pytest.mark.parametrize("tag", ["large", "nearly_one", "tiny", "huge"])
def test_labels_are_uncut_and_say_values_in_the_range_of_the_curve(pages, axes, tag):
    page = open_recorded(pages, axes, f"#scalars&tagFilter=^{tag}$&smoothing=0")
    card(page, tag)
    labels = y_labels(page, tag)
    low, high = CURVES[tag].min(), CURVES[tag].max()
    margin = (high - low) * 0.06
    assert len(labels) >= 3
    assert len(set(labels)) == len(labels)
    assert all(low - margin <= value_of(label) <= high + margin for label in labels), labels
    # The last label of x is whole.
    last = max((one for one in page.evaluate(LABELS, tag) if one["align"] == "center"), key=lambda one: one["right"])
    assert last["text"] == "2.0M"
    assert last["right"] <= last["canvasWidth"]


def test_log_y_is_drawn_on_every_range(pages, axes):
    page = open_recorded(pages, axes, "#scalars&logY=1&tagFilter=under|falling&smoothing=0")
    for tag, values in {**JUST_UNDER, "falling": CURVES["falling"]}.items():
        card(page, tag)
        labels = y_labels(page, tag)
        assert len(set(labels)) == len(labels)
        assert all(values.min() * 0.4 <= value_of(label) <= values.max() * 2.5 for label in labels), (tag, labels)


def test_an_axis_without_a_finite_value_has_no_labels(pages, axes):
    page = open_recorded(pages, axes, "#scalars&tagFilter=^never_finite$")
    card(page, "never_finite")
    labels = page.evaluate(LABELS, "never_finite")
    assert [one["text"] for one in labels if one["align"] == "right" and one["text"]] == []
    assert [one["text"] for one in labels if one["align"] == "center"]


def test_the_last_label_is_whole_next_to_a_wide_gutter(pages, axes):
    page = open_recorded(pages, axes, "#scalars&tagFilter=^ends_at_a_label$&smoothing=0&x=relative")
    card(page, "ends_at_a_label")
    labels = page.evaluate(LABELS, "ends_at_a_label")
    last = max((one for one in labels if one["align"] == "center"), key=lambda one: one["right"])
    assert last["text"] == "1h 30m"
    assert last["right"] <= last["canvasWidth"]


def test_the_date_on_a_wall_axis_is_whole(pages, axes):
    page = open_recorded(pages, axes, "#scalars&tagFilter=^large$&smoothing=0")
    page.get_by_role("button", name="Wall").first.click()
    card(page, "large")
    labels = [one for one in page.evaluate(LABELS, "large") if one["align"] == "center"]
    # The text hangs from its position and is 11 pixels high.
    assert all(one["bottom"] + 11 <= one["canvasHeight"] for one in labels)


# ---- a metric as the horizontal axis: chosen in the menu, kept in the URL, drawn in units of the metric

CARD = "article.scalar canvas"


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    """Two runs that see 100 and 200 tokens per step, and log them every second step; one run without tokens."""
    directory = tmp_path_factory.mktemp("tokens") / "runs"
    for name, per_step in (("small", 100), ("large", 200), ("other", 0)):
        with SummaryWriter(directory / name) as writer:
            for step in range(101):
                writer.add_scalar("loss", 100.0 - step, step)
                writer.add_scalar("accuracy", (step % 10) / 10, step)
                if per_step and step % 2 == 0:
                    writer.add_scalar("train/tokens", per_step * step, step)
    with a_server(directory, tmp_path_factory.mktemp("tokens-home")) as server:
        yield server


def test_a_metric_is_chosen_in_the_menu_and_kept_in_the_url(pages, trainings):
    page = pages.open(trainings, "#scalars&regexInput=small&smoothing=0&tagFilter=loss", wait=CARD)
    assert read_x(page, "loss", across=0.5) == "50"
    toolbar = page.locator(".toolbar")
    toolbar.get_by_role("button", name="Metric").click()
    panel = page.get_by_role("dialog", name="A metric as horizontal axis")
    panel.locator(".item").first.wait_for()
    settle(page)
    assert panel.locator(".heading, .item").all_inner_texts() == [
        *("Rising", "train/tokens"),
        *("Other metrics", "accuracy", "loss"),
    ]
    panel.get_by_role("button", name="train/tokens").click()
    until(page, "location.hash.includes('x=tag:train/tokens')")
    settle(page)
    assert read_x(page, "loss", across=0.5) == "5,000"
    assert hover(page, "loss", across=0.5).locator("tbody .right").first.inner_text() == "50"
    assert toolbar.get_by_role("button", name="train/tokens").get_attribute("aria-pressed") == "true"
    page.reload()
    settle(page)
    assert read_x(page, "loss", across=0.25) == "2,500"
    page.keyboard.press("x")
    until(page, "!location.hash.includes('x=')")
    settle(page)
    assert read_x(page, "loss", across=0.5) == "50"


def test_runs_are_compared_at_equal_values_of_the_metric(pages, trainings):
    page = pages.open(trainings, "#scalars&smoothing=0&tagFilter=loss&x=tag:train/tokens", wait=CARD)
    rows = hover(page, "loss", across=0.25).locator("tbody tr")
    values = {row.split()[0]: row.split()[1] for row in rows.all_inner_texts()}
    assert values == {"small": "50", "large": "75"}  # the third run has no tokens
    assert card(page, "loss").locator(".legend li").count() == 2


def test_a_metric_that_no_run_has_is_named_on_the_card(pages, trainings):
    page = pages.open(trainings, "#scalars&smoothing=0&tagFilter=loss&x=tag:flops", wait="article.scalar .middle")
    page.get_by_text("None of the selected runs has this tag together with flops.").wait_for()


def test_the_menu_finds_a_metric_by_part_of_its_name_with_the_keyboard(pages, trainings):
    page = pages.open(trainings, "#scalars&smoothing=0&tagFilter=loss", wait=CARD)
    page.locator(".toolbar").get_by_role("button", name="Metric").press("Enter")
    page.get_by_role("dialog").locator(".item").first.wait_for()
    page.keyboard.type("ACC")
    until(page, "document.querySelectorAll('.panel .item').length === 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('x=tag:accuracy')")
    settle(page)
    assert read_x(page, "loss", across=0.999) == "0.9"
