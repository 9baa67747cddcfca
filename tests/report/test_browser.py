"""The page in a real browser: it opens, sorts, searches, obeys the keyboard, stays harmless."""

import os
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from driftsieve import offline, report
from driftsieve._text import printable
from driftsieve.history import ScoreHistory

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts"

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
if CHROMIUM is None:
    pytest.skip("no chromium on PATH: apt-get install chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a report from a file; the test fails on any console message, error or request."""
    troubles, contexts = [], []

    def opened(data, **options):
        file = tmp_path / "report.html"
        file.write_text(report.to_html(data), encoding="utf-8")
        context = browser.new_context(
            **{"viewport": {"width": 1400, "height": 1000}, "offline": True} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda r: r.url == file.as_uri() or troubles.append(f"request: {r.url}"))
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def shot(page, name, **options):
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"report-{name}.png", **options)


def column(page, number, n=5):
    """The first n cells of a column, by the place of the rows."""
    cells = page.locator(f"#grid .space .row:visible .cell:nth-child({number})")
    return [cells.nth(i).inner_text() for i in range(n)]


def test_opens_and_shows_all_of_the_report(open_page, drifting):
    page = open_page(drifting)
    assert page.title() == drifting["title"]
    assert page.locator("h1").inner_text() == drifting["title"]
    assert column(page, 2) == drifting["names"][:5]
    assert page.locator("#tiles dt").all_inner_texts() == [
        "Rows", "Features", "Classes", "Effective rows", "Stability now", "Changes", "Rank error"
    ]  # fmt: skip
    assert page.locator("#grid .spark").count() > 10
    assert page.locator("#lines .series").count() == 10
    assert page.locator("#heat .row-label").count() > 10
    assert page.locator("#spans .span").count() > 10
    assert page.locator("#stability .series").count() == 2
    assert page.locator("#events li").count() == len(drifting["history"]["events"])
    newest = drifting["history"]["events"][-1]
    assert newest["name"] in page.locator("#events li").first.inner_text()
    assert "sensors-*.parquet" in page.locator("#parameters").inner_text()
    assert "exact" in page.locator("#certificate").inner_text()
    assert drifting["versions"]["numpy"] in page.locator("#versions").inner_text()
    shot(page, "light", full_page=True)


def test_dark_by_preference_and_by_choice(open_page, drifting):
    page = open_page(drifting, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    shot(page, "dark", full_page=True)
    page.click("#theme")
    light = page.evaluate(ground)
    page.click("#theme")
    assert dark == page.evaluate(ground) != light

    def luminance(color):
        return sum(int(part) for part in color[4:-1].split(","))

    assert luminance(dark) < 150 < 600 < luminance(light)


def test_click_shows_the_feature(open_page, drifting):
    page = open_page(drifting)
    page.click("#grid .space .row:has-text('sensor_11')")
    detail = page.locator("#detail")
    assert detail.locator("h3").inner_text() == "sensor_11"
    at = drifting["names"].index("sensor_11")
    rows = detail.locator("tbody tr")
    assert rows.count() == 5
    ranks = [int(rows.nth(i).locator("td").last.inner_text()) for i in range(5)]
    assert ranks == [drifting["ranks"][key][at] for key in drifting["ranks"]]
    assert detail.locator(".series").count() == 3  # one trend, two classes
    detail.locator("button:has-text('Cumulative')").click()
    assert detail.locator("circle").count() > 10
    detail.locator(".plot").last.scroll_into_view_if_needed()
    box = detail.locator(".plot").last.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "%" in page.locator("#tip").inner_text()
    shot(page, "detail")


def test_sort_by_every_column(open_page, drifting):
    page = open_page(drifting)
    by_name = sorted(drifting["names"])
    page.click("#grid [role=columnheader] >> text=Feature")
    assert column(page, 2) == by_name[:5]
    page.click("#grid [role=columnheader] >> text=Feature")
    assert column(page, 2) == by_name[::-1][:5]
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "descending"
    page.click("#grid [role=columnheader] >> text=Gini")
    order = sorted(range(48), key=drifting["ranks"]["gini"].__getitem__)
    assert column(page, 2) == [drifting["names"][i] for i in order[:5]]
    page.click("#grid [role=columnheader] >> text=p-value")
    assert column(page, 2) == drifting["names"][:5]
    page.select_option("#by", "fisher")
    order = sorted(range(48), key=drifting["ranks"]["fisher"].__getitem__)
    assert column(page, 2) == [drifting["names"][i] for i in order[:5]]
    assert column(page, 1) == ["1", "2", "3", "4", "5"]


def test_search_filters_the_table(open_page, drifting):
    page = open_page(drifting)
    page.fill("#search", "SENSOR 4")
    found = [name for name in drifting["names"] if "4" in name]
    assert column(page, 2, len(found)) == found
    assert page.locator("#count").inner_text() == f"{len(found)} of 48"
    page.fill("#search", "nothing like this")
    assert page.locator("#grid .space .row:visible").count() == 0
    page.locator("#events button").first.click()  # a feature that the search hides
    assert page.input_value("#search") == ""
    newest = drifting["history"]["events"][-1]["name"]
    assert page.locator("#detail h3").inner_text() == newest


def test_the_page_can_be_used_by_keyboard_alone(open_page, drifting):
    page = open_page(drifting)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("sensor")
    page.keyboard.press("Enter")
    for key, at in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 47), ("Home", 0)]:
        page.keyboard.press(key)
        assert page.locator("#detail h3").inner_text() == drifting["names"][at]
        active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
        assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
        assert page.locator(f"#{active}").is_visible()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.locator("#lines .end").nth(3).focus()
    page.keyboard.press("Enter")
    shown = page.locator("#lines .end title").nth(3).text_content()
    assert page.locator("#detail h3").inner_text() == shown
    page.locator("#grid [role=columnheader] button").nth(1).focus()
    page.keyboard.press("Space")
    assert column(page, 2, 1) == ["sensor_00"]


def test_charts_show_a_tip_under_the_pointer(open_page, drifting):
    page = open_page(drifting)
    tip = page.locator("#tip")
    for chart, text in [("#lines", "rows"), ("#heat", "rank"), ("#stability", "Jaccard")]:
        page.locator(chart).scroll_into_view_if_needed()
        box = page.locator(f"{chart} .hit").first.bounding_box()
        if chart == "#heat":
            box = page.locator(f"{chart} > svg > .hit").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.4)
        assert text in tip.inner_text()
    page.mouse.move(2, 2)
    assert tip.is_hidden()
    page.locator("#lines button:has-text('Rank')").click()
    page.locator("#lines button:has-text('Best now')").click()
    assert page.locator("#lines .series").count() == 10
    page.locator("#heat .row-label").first.click()
    assert (
        page.locator("#detail h3").inner_text() == page.locator("#heat title").first.text_content()
    )


def test_hostile_names_are_escaped(open_page, hostile):
    page = open_page(hostile)
    assert page.title() == hostile["title"]
    page.locator("#grid .scroller").focus()
    for name in hostile["names"]:
        shown = page.locator("#detail .name").first.evaluate("node => node.textContent")
        assert shown == (printable(name) or "(empty name)")
        page.keyboard.press("ArrowDown")
    for chart in ("#lines", "#heat", "#spans", "#detail"):
        box = page.locator(f"{chart} .plot").first.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "" in hostile["history"]["names"]
    for labels in ("#lines .end title", "#heat .row-label text", "#spans .row-label text"):
        texts = page.locator(labels).all_text_contents()
        assert "(empty name)" in texts
        assert "" not in texts
    assert page.title() == hostile["title"]
    assert page.locator("script").count() == 2
    assert page.locator("img, main svg[onload], [onerror]").count() == 0
    assert page.locator("#events img, #grid b, #detail b").count() == 0
    for cell in page.locator("#grid .space .row:visible .name").all():
        assert cell.bounding_box()["height"] < 30  # on one line: rows do not overprint each other
    page.fill("#search", "<script>")
    assert page.locator("#grid .space .row:visible").count() == 3
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1400  # not even the name of 5,000 letters widens the page
    shot(page, "hostile")


def test_content_security_policy_blocks_injected_script(browser, drifting, tmp_path):
    text = report.to_html(drifting)
    sneaked = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    file = tmp_path / "report.html"
    file.write_text(text.replace("<main>", f"<main>{sneaked}"), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.evaluate("1")
    assert page.title() == drifting["title"]
    with pytest.raises(sync_api.Error, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>markup</b>'")
    page.close()


def test_2_000_features_are_listed_and_all_are_found(open_page, wide):
    page = open_page(wide)
    assert page.locator("#count").inner_text() == "2,000 listed"
    names, others = wide["names"], wide["others"]
    page.click("#grid [role=columnheader] >> text=Feature")
    numbers = sorted(int(name.split("=")[1]) for name in names)
    assert column(page, 2) == [f"word={i}" for i in numbers[:5]]  # 2 before 10
    page.fill("#search", others["names"][50_000])
    assert column(page, 2, 1) == [others["names"][50_000]]
    assert column(page, 1, 1) == ["52,001"]
    page.click("#grid .space .row")
    assert page.locator("#detail tbody tr").count() == 1  # its rank and score are all there is
    assert "no distribution" in page.locator("#detail").inner_text()
    page.fill("#search", "")
    page.click("#grid [role=columnheader] >> text=Rank")
    page.locator("#grid .scroller").focus()
    page.keyboard.press("End")
    assert page.locator("#detail h3").inner_text() == names[-1]
    assert page.locator("#detail .series").count() >= 2  # the last has its distribution too
    page.evaluate("document.querySelector('.scroller').scrollTop = 34 * 1000")
    page.locator(f"#grid .name[title='{names[1005]}']").wait_for()
    assert page.locator("#grid .row").count() < 60
    shot(page, "wide")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert column(page, 2, 50) == names[:50]  # paper gets the best, wherever the screen is
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert names[1005] in column(page, 2, 10)


def test_many_classes_and_no_history(open_page, many_classes):
    page = open_page(many_classes)
    assert page.locator("#overtime").is_hidden()
    assert page.locator("nav a:visible").all_inner_texts() == ["Ranking", "Run"]
    for name in many_classes["names"]:
        page.click(f"#grid .row:has-text('{name}')")
        assert page.locator("#detail h3").inner_text() == name
    page.click("#grid .row:has-text('x1')")
    assert page.locator("#detail .row-label").count() == 20
    shot(page, "classes")
    page.click("#grid .row:has-text('x2')")
    assert "one value, 0" in page.locator("#detail").inner_text()


def test_a_report_of_a_history_alone_has_dates_and_ranks(open_page):
    history = ScoreHistory("gini", k=1, every=60)
    for i, scores in enumerate([[0.1, 0.4, 0.3], [0.2, 0.4, 0.1], [0.5, 0.2, 0.1]]):
        history.record(1.7e9 + 3 * 86400 * i, scores)
    page = open_page(report.build(history=history, unit="unix", title="Only the past"))
    assert column(page, 2, 3) == ["x2", "x1", "x0"]
    assert "2023-11-16" in page.locator("#lines").inner_text()
    assert page.locator("#detail .series").count() == 1


def test_a_single_record_and_an_infinite_score(open_page):
    history = ScoreHistory("t", k=2)
    history.record(10, [float("inf"), 1.0, 0.0])
    page = open_page(report.build(history=history))
    assert page.locator("#detail tbody td").first.inner_text() == "∞"
    for chart in ("#lines", "#heat", "#spans", "#stability"):
        box = page.locator(f"{chart} .plot").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator("#lines button:has-text('Score')").click()
    assert page.locator("#lines .end").count() == 2  # infinity has no place on the axis


def test_page_fits_a_narrow_window(open_page, drifting):
    page = open_page(drifting, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shot(page, "narrow", full_page=True)


def test_headline_memory_and_dates(open_page, learned):
    page = open_page(learned)
    assert page.locator("#headline").inner_text() == learned["headline"]
    assert learned["significance"] in page.locator("#lede").inner_text()
    memory = page.locator("#memory")
    assert learned["memory"]["text"] in memory.inner_text()
    assert memory.locator(".stack").count() == memory.locator("tbody tr").count() == 9
    assert "no forgetting" in memory.locator("tbody tr").last.inner_text()
    assert "2023-12" in page.locator("#lines").inner_text()
    shot(page, "memory", full_page=True)


def test_features_that_are_not_significant_are_grey_below_a_line(open_page, learned):
    page = open_page(learned)
    p = np.array(learned["pvalues"]["mutual_info"])
    n = int((p <= learned["largest_significant"]["mutual_info"]).sum())
    assert 0 < n < 8
    rows = page.locator("#grid .space .row:visible")
    grey = [
        "faint" in rows.nth(i).get_attribute("class").split() for i in range(len(learned["names"]))
    ]
    assert grey == [False] * n + [True] * (8 - n)
    assert page.locator("#grid .row.limit").count() == 1
    assert page.locator("#lines .mark").count() == 1


def test_share_of_the_entropy_and_trend_follow_the_score(open_page, learned):
    page = open_page(learned)
    weights = np.array([one["weight"] for one in learned["classes"]])
    shares = weights / weights.sum()
    share = learned["scores"]["mutual_info"][0] / -(shares * np.log(shares)).sum()
    headings = page.locator("#grid .headings").inner_text()
    assert "of label" in headings
    assert "Trend" in headings
    assert column(page, 5, 1)[0].replace("\u2009", "") == f"{100 * share:.1f}%"
    page.select_option("#by", "chi2")
    headings = page.locator("#grid .headings").inner_text()
    assert "of label" not in headings
    assert "Trend" not in headings  # the history has another score
    assert "over time" not in page.locator("#detail").inner_text()


def test_two_values_are_two_groups_of_bars_with_their_names(open_page, learned):
    page = open_page(learned)
    page.click("#grid .space .row:has-text('colour=red')")
    detail = page.locator("#detail")
    assert detail.locator(".value").all_text_contents() == ["not red", "red"]
    assert detail.locator(".segmented").count() == 0
    heights = detail.locator(".bar").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().height)"
    )
    at = learned["features"][learned["names"].index("colour=red")]
    group = next(g for g in learned["distributions"] if at in g["features"])
    weights = np.array(group["weights"][group["features"].index(at)])
    shares = (weights / weights.sum(axis=0))[weights.any(axis=1)]  # by value and class
    assert shares.shape == (2, 2)
    np.testing.assert_allclose(
        np.array(heights) / heights[0], shares.ravel() / shares[0, 0], rtol=0.02
    )


def test_sparklines_have_one_scale(open_page, learned):
    page = open_page(learned)
    heights = page.locator("#grid .spark path").evaluate_all(
        "paths => paths.map((path) => path.getBBox().height)"
    )
    assert max(heights) > 10
    assert min(heights) < 3  # noise is flat


def test_phone_shows_whole_columns_and_labels(open_page, learned):
    page = open_page(learned, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    table = page.locator("#grid .scroller")
    assert table.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert page.locator("#grid .headings .cell").all_inner_texts() == [
        "Rank", "Feature", "MI, nats", "p-value"
    ]  # fmt: skip
    assert page.locator("#lines .legend .name").count() == 8
    assert page.locator("#spans .row-label text").first.text_content() == "before"
    shot(page, "phone", full_page=True)


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_no_number_of_the_ranking_is_cut(open_page, learned, many_classes, wide, width):
    for data in (learned, many_classes, wide):
        page = open_page(data, viewport={"width": width, "height": 844})
        table = page.locator("#grid .scroller")
        assert table.evaluate("node => node.scrollWidth <= node.clientWidth")
        cut = page.locator("#grid .space .cell:not(.left)").evaluate_all(
            "cells => cells.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.innerText)"
        )
        assert cut == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("days", [0.2, 2, 40, 75, 355, 1000])
@pytest.mark.parametrize("start", [1.7e9, 1736467200])  # 2023-11-14, 2025-01-10
def test_axes_of_time_have_several_dates_that_do_not_overlap(open_page, width, days, start):
    history = ScoreHistory("t", k=1, every=60)
    for i in range(20):
        history.record(i, [1.0, i / 10], time=start + 86400 * days * i / 19)
    page = open_page(report.build(history=history), viewport={"width": width, "height": 844})
    boxes = (
        page.locator("#lines .axis")
        .nth(1)
        .locator("g text")
        .evaluate_all(
            "texts => texts.filter((t) => t.textContent).map((t) => t.getBoundingClientRect())"
            ".map((b) => [b.left, b.right])"
        )
    )
    assert 2 <= len(boxes) <= 17
    assert all(a[1] < b[0] for a, b in pairwise(boxes))


def test_axis_of_a_year_has_the_first_days_of_months(open_page):
    history = ScoreHistory("t", k=1, every=60)
    for i in range(40):
        history.record(i, [1.0, i / 10], time=1736467200 + 9 * 86400 * i)  # from 2025-01-10
    page = open_page(report.build(history=history))
    dates = page.locator("#lines .axis").nth(1).locator("g text").all_text_contents()
    assert dates == [f"2025-{month:02}" for month in range(2, 13)]


def test_long_labels_keep_their_ends(open_page):
    rng = np.random.default_rng(0)
    y = np.array([f"product group of the shop {i}" for i in range(12)])[rng.integers(0, 12, 600)]
    page = open_page(report.build(offline.snapshot(rng.normal(size=(600, 2)), y)))
    labels = page.locator("#detail .row-label text").all_text_contents()
    assert len(set(labels)) == 12
    assert all("…" in label for label in labels)


def test_the_printed_page_is_light_and_without_controls(open_page, drifting):
    page = open_page(drifting, color_scheme="dark")
    ARTEFACTS.mkdir(exist_ok=True)
    pdf = page.pdf(path=ARTEFACTS / "report.pdf", format="A4")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 10
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#search").is_hidden()
