"""Cards of expressions over tags."""

from web.charts import card, hover, read_step
from web.waiting import settle, until

CARD = "article.scalar canvas"


def draw(page, expression):
    page.get_by_role("button", name="Overlay", exact=True).click()
    page.get_by_label("Draw an expression over tags").fill(expression)
    page.get_by_role("button", name="Draw", exact=True).click()


def test_an_expression_is_a_card_with_the_computed_values_and_in_the_address(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=count&syncZoom=1&zoom=450,550", wait=CARD)
    draw(page, "count * 2 - sawtooth")
    until(page, "location.hash.includes('overlays=')")
    tag = "=count * 2 - sawtooth"
    assert card(page, tag).locator("h3").inner_text() == "count * 2 - sawtooth"
    step = read_step(page, tag, across=0.5)
    value = hover(page, tag, across=0.5).locator("tbody .right").first.inner_text().split()[0]
    assert int(value.replace(",", "")) == step * 2 - step % 2
    with page.expect_download() as saved:
        card(page, tag).get_by_label("Save or overlay count * 2 - sawtooth").click()
        page.locator(".panel").get_by_role("button", name="CSV", exact=True).click()
    rows = [line.split(",") for line in saved.value.path().read_text().splitlines()[1:]]
    assert [float(row[3]) for row in rows] == [step * 2 - step % 2 for step in range(450, 551)]
    other = pages.open(study, "#" + page.url.split("#")[1], wait=CARD)
    assert card(other, tag).locator("h3").inner_text() == "count * 2 - sawtooth"


def test_another_run_can_be_the_baseline(pages, study):
    page = pages.open(study, "#scalars&regexInput=^[abc]$&smoothing=0", wait=CARD)
    draw(page, 'level - run("a", level)')
    legend = card(page, '=level - run("a", level)').locator(".legend li")
    values = {row.split()[0]: row.split()[1] for row in legend.all_inner_texts()}
    assert values == {"a": "0", "b": "2", "c": "−1"}


def test_a_wrong_expression_says_so_and_spares_the_other_cards(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=count", wait=CARD)
    draw(page, "sin(count)")
    page.get_by_text("Unknown function 'sin'").wait_for()
    page.reload()
    page.get_by_text("Unknown function 'sin'").wait_for()
    card(page, "count")
    settle(page)
    assert abs(read_step(page, "count", across=0.5) - 500) < 5
