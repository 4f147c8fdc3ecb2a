"""What a user sees and does in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.served_pages import served_pages
from support.stored_runs import NEW, make_store, trial

from trialbed.store import Store

pytestmark = pytest.mark.slow(15)

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
PATHS = {
    "runs": "/",
    "run": f"/runs/{NEW}",
    "queries": f"/runs/{NEW}/queries?sort=worst",
    "answers": f"/runs/{NEW}/answers",
    "trial": TRIAL,
    "failed-trial": f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=%22a%2Fb%22",
    "vendors": "/files",
    "missing": "/runs/nosuch",
}
WIDTHS = {"light": (400, 1000, 1600), "dark": (400,)}
RULES = {"light": ["wcag2a", "wcag2aa", "wcag21aa"], "dark": {"type": "rule", "values": ["color-contrast"]}}
"""What axe looks for: in the dark, nothing but the colours is another."""

PAPER = 668
"""The width of a printed page, in pixels."""

BUDGET = 150_000
"""Bytes that the first page takes, with all that it loads."""


def test_from_the_newest_run_to_the_call_that_went_wrong_and_its_command(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(f"a[href='/runs/{NEW}']").click()
    page.get_by_role("heading", name="Hardest tasks").wait_for()
    page.locator(".worst a").first.click()
    page.get_by_role("heading", name="langgraph:native on task").wait_for()
    page.goto(address + TRIAL)
    page.locator(".problems a").first.click()
    expect(page.locator("#call-1")).to_be_in_viewport()
    expect(page.locator("#call-1")).to_contain_text("'city' is a required property")
    page.get_by_role("button", name="Copy the command that runs it again").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("bench run -f langgraph:native")


def test_a_command_that_cannot_be_copied_is_selected_and_said_to_be(page: Page, address: str) -> None:
    page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden'))")
    page.goto(address + TRIAL)
    page.get_by_role("button", name="Copy the command that runs it again").click()
    page.get_by_role("button", name="Selected: press Ctrl-C").wait_for()
    assert page.evaluate("String(window.getSelection())").startswith("bench run -f langgraph:native")


def test_a_run_that_is_followed_says_when_it_was_interrupted(browser: Any, tmp_path: Path) -> None:
    store_file = tmp_path / "trialbed.db"
    make_store(store_file)
    with Store.open(str(store_file)) as store, served_pages(store_file, tmp_path) as address:
        store.update_run(NEW, status="running")
        page = browser.new_page()
        with store.lock(NEW):
            page.goto(f"{address}/runs/{NEW}")
            expect(page.locator("#status")).to_have_text("running")
            page.evaluate("window.loaded = true")
            one = trial("reference", 1, wrong=False)
            key = one.key.model_copy(update={"repeat": 1})
            store.add_trial(NEW, one.model_copy(update={"key": key, "trial": "token-again"}))
            expect(page.get_by_text("5 of 4 trials have ended")).to_be_visible(timeout=15_000)
            assert page.evaluate("window.loaded"), "the page was loaded again"
        expect(page.locator("#status")).to_have_text("interrupted", timeout=15_000)
        expect(page.locator("#status")).to_have_class("status status-interrupted")
        page.close()


def test_with_the_keyboard_alone(page: Page, address: str) -> None:
    def press_to(target: str) -> None:
        """Go on with the tabulator until a link of this address has the focus, and follow it."""
        for _ in range(60):
            page.keyboard.press("Tab")
            link = page.evaluate("document.activeElement.href") or ""
            if target in link:
                page.keyboard.press("Enter")
                page.wait_for_url(link)
                return
        raise AssertionError(f"no link to {target} was reached")

    page.goto(address)
    press_to(f"/runs/{NEW}")
    press_to("/trial?")
    page.goto(address + TRIAL)
    press_to("#call-1")
    expect(page.locator("#call-1")).to_be_in_viewport()


def test_queries_are_filtered_without_loading_the_page_anew(page: Page, address: str) -> None:
    page.goto(f"{address}/runs/{NEW}/queries")
    page.evaluate("window.kept = true")
    page.get_by_label("Show").select_option("failed")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.evaluate("window.kept")
    assert "show=failed" in page.url
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_the_raw_request_comes_when_it_is_asked_for(page: Page, address: str) -> None:
    page.goto(address + TRIAL)
    raw = page.locator("details.raw").first
    raw.locator("summary").click()
    expect(raw.locator("pre")).to_contain_text('"messages"')


def test_the_plots_of_a_run_are_whole_on_a_phone(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    page.goto(f"{address}/runs/{NEW}")
    plots = page.locator(".plot")
    assert plots.count() >= 1
    for place in range(plots.count()):
        assert plots.nth(place).evaluate("plot => plot.scrollWidth <= plot.clientWidth")
        drawing = plots.nth(place).locator("svg")
        assert drawing.evaluate("svg => svg.getBoundingClientRect().right <= innerWidth")


def test_answers_and_signs_stand_below_each_other_on_a_phone_and_a_grid_that_is_cut_says_so(
    page: Page, address: str
) -> None:
    page.goto(address + PATHS["answers"])
    hint = "box => getComputedStyle(box, '::before').content.includes('Scroll the table sideways')"
    box = page.locator(".wide:has(> .grid)")
    for width in (420, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert not box.evaluate(hint)
    page.goto(address + PATHS["queries"])
    for width, is_cut in ((1280, False), (240, False), (900, True)):
        page.set_viewport_size({"width": width, "height": 800})
        if is_cut:
            page.locator(".grid").evaluate("grid => { grid.style.width = '1200px'; }")
            page.set_viewport_size({"width": width + 1, "height": 800})
        expect(box).to_have_class("wide cut" if is_cut else "wide")
        assert box.evaluate(hint) is is_cut


@pytest.mark.parametrize("name", PATHS)
def test_no_page_has_barriers_or_is_wider_than_its_window(
    context: Any, address: str, axe: str, name: str, tmp_path: Path
) -> None:
    shots = Path(os.environ.get("TRIALBED_TEST_SCREENSHOTS", tmp_path))
    shots.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        page = context.browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
        page.goto(address + PATHS[name])
        page.wait_for_load_state("networkidle")
        for width in WIDTHS[scheme]:
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot(path=str(shots / f"{name}-{scheme}-{width}.png"), full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate(axe)
        found = page.evaluate(f"axe.run({{runOnly: {RULES[scheme]}}})")["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        page.context.close()


@pytest.mark.parametrize("name", ["runs", "run", "trial", "vendors"])
def test_no_table_is_cut_off_in_print(page: Page, address: str, name: str) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 800})
    page.goto(address + PATHS[name])
    page.wait_for_load_state("networkidle")
    wide = "tables => tables.filter(one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML)"
    assert page.locator("table:visible").evaluate_all(wide) == []


def test_answers_stand_in_print_below_the_names_of_their_frameworks(page: Page, address: str) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 800})
    page.goto(address + PATHS["answers"])
    edges = "cells => cells.map(one => one.getBoundingClientRect().left)"
    heads = page.locator("table.answers thead th").evaluate_all(edges)
    assert len(heads) == 3
    for row in page.locator("table.answers tbody tr").all():
        assert row.locator("th, td").evaluate_all(edges) == heads


@pytest.mark.parametrize("width", [1200, 1280, 1366])
def test_the_verdicts_of_a_run_are_whole_at_every_width(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address + PATHS["run"])
    page.wait_for_load_state("networkidle")
    cut = "parts => parts.filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
    found = page.locator(".wide:visible")
    assert found.count()
    assert found.evaluate_all(cut) == []


def test_the_first_page_is_small(page: Page, address: str) -> None:
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(len(response.body())))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    assert len(sizes) >= 4
    assert sum(sizes) < BUDGET
