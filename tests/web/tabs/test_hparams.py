"""The HParams tab."""

import re

from web.charts import painted, point
from web.waiting import settle, until


def test_the_table_can_be_sorted_filtered_and_brushed(pages, gallery):
    page = pages.open(gallery, "#hparams", wait="table tbody tr")
    page.locator("th button", has_text=re.compile("^lr")).click()
    page.locator("th button", has_text=re.compile("^lr")).click()
    settle(page)
    assert page.locator("tbody tr").first.inner_text().startswith("diverged")
    page.get_by_label("Filter rows").fill("seed1")
    until(page, "document.querySelectorAll('tbody tr').length === 2")
    page.get_by_label("Filter rows").fill("")
    page.get_by_role("button", name="Parallel coordinates").click()
    axis = page.get_by_label(re.compile("^Filter runs by lr"))
    box = axis.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.3, steps=4)
    page.mouse.up()
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    settle(page)
    assert page.locator("tbody tr").inner_text().startswith("diverged")
    # The lines of the other runs fade, and the count shows how many are left.
    assert page.locator(".parallel path:not(.off)").count() == 1
    assert page.locator("main .count").inner_text().startswith("1 of 11 runs")
    page.get_by_role("button", name="Clear ranges").click()
    until(page, "document.querySelectorAll('tbody tr').length === 11")
    # The keyboard works too.
    axis.focus()
    page.keyboard.press("ArrowUp")
    until(page, "document.querySelectorAll('tbody tr').length < 11")
    page.keyboard.press("Delete")
    until(page, "document.querySelectorAll('tbody tr').length === 11")


def test_the_scatter_matrix_highlights_runs_and_follows_the_filter(pages, gallery):
    page = pages.open(gallery, "#hparams", wait="table tbody tr")
    page.get_by_role("button", name="Scatter matrix").click()
    assert painted(page, ".matrix canvas")
    settle(page)
    size = page.locator(".matrix .own").count()
    assert size > 2
    assert page.locator(".matrix canvas").count() == size * (size - 1)
    plot = page.get_by_label("val/loss vs. lr", exact=True)
    plot.scroll_into_view_if_needed()
    point(page, plot, 0.95, 0.9)
    box = plot.bounding_box()
    # Along the right edge is only the run with the largest learning rate.
    for down in range(4, int(box["height"]), 6):
        page.mouse.move(box["x"] + box["width"] - 8, box["y"] + down)
        settle(page)
        if "diverged" in page.locator("main .count").inner_text():
            break
    assert page.locator("main .count").inner_text() == "11 runs: diverged"
    before = plot.evaluate("canvas => canvas.toDataURL()")
    page.get_by_label("Filter rows").fill("overfit")
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    page.mouse.move(5, 5)
    settle(page)
    assert plot.evaluate("canvas => canvas.toDataURL()") != before


def test_columns_can_be_chosen_and_saved_as_csv(pages, gallery):
    page = pages.open(gallery, "#hparams", wait="table tbody tr")
    heads = page.locator("main thead th")
    assert "layers" not in " ".join(heads.all_inner_texts())  # it is the same in all runs
    page.get_by_role("button", name="Columns", exact=True).click()
    page.get_by_label("Settings that are the same in all runs").check()
    page.locator(".panel").get_by_label("train/grad_norm", exact=True).check()
    page.keyboard.press("Escape")
    until(page, "document.querySelector('main thead').innerText.includes('layers')")
    page.get_by_label("Metrics:").select_option("max")
    until(page, "document.querySelector('main thead').innerText.includes('train/grad_norm')")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0].startswith("run,")
    assert {"lr", "layers", "train/grad_norm"} <= set(lines[0].split(","))
    assert len(lines) == 12
