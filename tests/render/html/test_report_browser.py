"""Reports in a real browser: what they do there, on a desk, on a phone, in the dark and on paper. One page
of a suite serves most tests; every wait is for a condition."""

import csv
import io
import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Download, Page, ViewportSize, expect

from ringside.analysis.run import analysis_of
from ringside.render.plots.charts import charts_of, missing
from ringside.render.site.site import render_page
from ringside.store import Store
from tests.support.browsers import PATIENCE_MS, wait_until_drawn, watched
from tests.support.runs import experiment, make_run

pytestmark = pytest.mark.skipif(missing() is not None, reason="the `report` extra is not installed")
expect.set_options(timeout=PATIENCE_MS)

PHONE: ViewportSize = {"width": 390, "height": 844}
SHEET: ViewportSize = {"width": 718, "height": 1000}  # an A4 page between its margins


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three runs: a ring with claims, a service and feeds with time lines, whose contenders are
    of several classes."""
    folder = tmp_path_factory.mktemp("report")
    store = Store(None)
    names = ("erlang", "go", "python-threads", "limit")
    runs = [
        make_run(store, experiment(contenders=names, factors={"nodes": 100, "messages": (10, 100)})),
        make_run(store, experiment("showdown-fib", blocks=7), crashed={"python-threads": 7}),
        make_run(store, experiment("showdown-feed", blocks=7, contenders=("go", "limit"))),
    ]
    pages = [analysis_of(store, run) for run in runs]
    (folder / "report.html").write_text(render_page(pages), encoding="utf-8")
    drawn = itertools.chain(*charts_of(pages))
    stems = [panel.stem for chart in drawn for panel in chart.panels]
    (folder / "names.txt").write_text("\n".join(stems), encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def faults() -> list[str]:
    """Errors of the console, and requests that leave the page, of all tests that share it."""
    return []


@pytest.fixture(scope="module")
def drawn(browser: Browser, report: Path, faults: list[str]) -> Iterator[Page]:
    """The page on a desk, all parts opened and all plots drawn."""
    with watched(browser, faults, report.as_uri(), color_scheme="light") as page:
        page.goto(report.as_uri())
        wait_until_drawn(page)
        yield page


def sideways(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def column(page: Page, number: int) -> list[str]:
    """The shown cells of a column of the overview."""
    rows = page.locator(f"table.overview tbody tr:visible > :nth-child({number})")
    return [text.strip() for text in rows.all_inner_texts()]


def test_every_section_is_there_and_its_links_lead_to_it(drawn: Page) -> None:
    places = drawn.locator("section").evaluate_all("all => all.map(one => one.id)")
    assert places == ["overview", "run-1", "run-2", "run-3", "claims", "contenders", "method"]
    targets = drawn.locator("a[href^='#']").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert {"#run-1", "#claims", "#contenders", "#method"} <= {*targets}
    assert drawn.evaluate("names => names.filter(name => !document.querySelector(name))", targets) == []


def test_the_answers_come_first_and_every_dot_has_its_name_and_figure(drawn: Page) -> None:
    """Each answer stands above its picture, its warnings below, and all figures behind them."""
    for number, card in enumerate(drawn.locator(".answer").all(), 1):
        tops = [card.locator(what).first.bounding_box() for what in ("strong", ".dots")]
        if card.locator(".cautions").count():
            tops.append(card.locator(".cautions").bounding_box())
        tops.append(drawn.locator(f"#run-{number}").bounding_box())
        heights = [box["y"] for box in tops if box]
        assert len(heights) == len(tops) > 2
        assert heights == sorted(heights)
    rows = """all => all.map(one => [one.querySelectorAll('circle, text').length,
        one.previousElementSibling.textContent.trim(), one.nextElementSibling.textContent.trim()])"""
    found = drawn.locator("svg.track").evaluate_all(rows)
    assert len(found) > 9
    assert all(marks == 1 and name and amount for marks, name, amount in found)
    # Labels of an axis do not touch each other.
    edges = """all => all.map(axis => Array.from(axis.querySelectorAll('text'), one => {
        const box = one.getBoundingClientRect(); return [box.left, box.right]; }))"""
    for width in (1280, PHONE["width"]):
        drawn.set_viewport_size({"width": width, "height": 900})
        for axis in drawn.locator(".answer > .dots svg.axis").evaluate_all(edges):
            assert all(one[1] < other[0] for one, other in itertools.pairwise(axis))
    drawn.set_viewport_size({"width": 1280, "height": 900})


def test_hovering_shows_the_numbers(drawn: Page) -> None:
    point = drawn.locator(
        "#run-1 [data-chart] path[aria-roledescription='point'], #run-1 .mark-symbol path"
    ).first
    point.scroll_into_view_if_needed()
    tip = drawn.locator("#vg-tooltip-element")
    point.hover(force=True)
    expect(tip).to_be_visible()
    words = tip.inner_text()
    assert "contender" in words
    assert " ns" in words


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round(drawn: Page) -> None:
    before = column(drawn, 1)
    head = drawn.locator("table.overview thead th").nth(1)
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    sort = "rows => rows.map(row => Number(row.cells[1].dataset.sort))"
    upwards = drawn.locator("table.overview tbody tr").evaluate_all(sort)
    assert upwards == sorted(upwards)
    assert column(drawn, 1) != before
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert drawn.locator("table.overview tbody tr").evaluate_all(sort) == sorted(upwards, reverse=True)
    drawn.locator("table.overview thead th button").first.click()
    assert column(drawn, 1) == before


def test_the_filter_leaves_one_class(drawn: Page) -> None:
    everyone = column(drawn, 1)
    drawn.locator("#class-filter").select_option("floor")
    assert column(drawn, 1) == ["limit"]
    drawn.locator("#class-filter").select_option("")
    assert column(drawn, 1) == everyone


def downloaded(page: Page, place: str, kind: str) -> Download:
    with page.expect_download(timeout=PATIENCE_MS) as waiting:
        page.locator(f"{place} .downloads").first.get_by_role("button", name=kind).click()
    return waiting.value


def test_downloads_have_the_names_of_the_files(drawn: Page, report: Path, tmp_path: Path) -> None:
    names = (report.parent / "names.txt").read_text(encoding="utf-8").split("\n")
    assert drawn.locator("[data-chart]").count() == len(names)
    starts = {"SVG": b"<svg", "PNG": b"\x89PNG", "CSV": b"contender,"}
    for kind, start in starts.items():
        download = downloaded(drawn, "#run-1", kind)
        assert download.suggested_filename == f"{names[0]}.{kind.lower()}"
        assert drawn.locator(f"[data-chart='{names[-1]}']").count() == 1
        download.save_as(tmp_path / kind)
        content = (tmp_path / kind).read_bytes()
        assert content.startswith(start)
        assert b"var(--" not in content


def test_the_table_of_a_time_line_has_all_of_its_series(drawn: Page, tmp_path: Path) -> None:
    figure = "#run-3 figure:has([data-chart*='time'])"
    assert drawn.locator(figure).count()
    downloaded(drawn, figure, "CSV").save_as(tmp_path / "line.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "line.csv").read_text(encoding="utf-8"))))
    assert {row["series"] for row in rows} >= {"open", "cpu", "memory"}


def test_a_source_is_highlighted_when_it_is_opened(drawn: Page) -> None:
    source = drawn.locator("#contenders details[data-source]").first
    assert source.locator("pre").inner_html() == ""
    drawn.locator("#contenders > details[id]").first.locator("> summary").click()
    source.locator("summary").click()
    expect(source.locator("pre b, pre i, pre em").first).to_be_visible()


@pytest.mark.parametrize("width", [1900, 1280, 390])
def test_no_window_scrolls_sideways(drawn: Page, width: int) -> None:
    drawn.set_viewport_size({"width": width, "height": 900})
    assert sideways(drawn) <= 0
    if width > 1700:
        # The page uses the available width.
        assert drawn.locator("main").evaluate("main => main.clientWidth") > 1600
    drawn.set_viewport_size({"width": 1280, "height": 900})


def test_paper_has_the_whole_of_each_table(drawn: Page) -> None:
    drawn.set_viewport_size(SHEET)
    drawn.emulate_media(media="print")
    assert sideways(drawn) <= 0
    wide = """all => all.filter(one => one.getBoundingClientRect().right > window.innerWidth + 1)
        .map(one => one.textContent.slice(0, 60))"""
    assert drawn.locator("td, th, svg").evaluate_all(wide) == []
    for gone in ("nav >> nth=0", ".filter", ".downloads >> nth=0", ".on-screen"):
        expect(drawn.locator(gone)).to_be_hidden()
    swatch = drawn.locator(".swatch").first
    assert swatch.evaluate("one => getComputedStyle(one).printColorAdjust") == "exact"
    drawn.emulate_media(media="screen")
    drawn.set_viewport_size({"width": 1280, "height": 900})


def test_a_phone_in_the_dark(browser: Browser, report: Path) -> None:
    faults: list[str] = []
    options = {"color_scheme": "dark", "has_touch": True}
    with watched(browser, faults, report.as_uri(), **options) as page:
        page.set_viewport_size(PHONE)
        page.goto(report.as_uri())
        assert is_dark(page)
        assert sideways(page) <= 0
        # A claim is read from top to bottom: all of its fields are there.
        cells = page.locator("table.stacked tbody tr").first.locator("td")
        boxes = [cells.nth(number).bounding_box() for number in range(cells.count())]
        assert all(box and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    assert faults == []


def is_dark(page: Page) -> bool:
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
    )
    return brightness(paper) < 60 < 180 < brightness(ink)


def brightness(colour: str) -> float:
    """The mean of `rgb(20, 23, 27)`, from 0 to 255."""
    return statistics.fmean(float(part) for part in colour.strip("rgba()").split(",")[:3])


def test_nothing_went_wrong_and_no_request_left_the_page(drawn: Page, faults: list[str]) -> None:
    """The last: of all that the others did."""
    assert drawn.locator("html").get_attribute("data-errors") is None
    assert faults == []
