"""What a user sees and does in a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.bench import bench_in, own_environment
from support.served_pages import served_pages
from support.stored_runs import NEW, make_store, run, trial

from trialbed.store import Store

pytestmark = pytest.mark.slow(15)

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
PATHS = {
    "runs": "/",
    "run": f"/runs/{NEW}",
    "filtered": f"/runs/{NEW}?outcome=not+right&reason=wrong+answer",
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

TASKS = ("a/b", *range(1, 64))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The page of a run of many tasks in a store of its own: people write to it."""
    made = run(NEW, datetime(2026, 2, 2, tzinfo=UTC), ("reference", "langgraph:native"))
    made = made.model_copy(update={"config": made.config.model_copy(update={"query_ids": TASKS})})
    with Store.open(str(tmp_path / "trialbed.db")) as store:
        store.create_run(made)
        for name in made.config.frameworks:
            store.add_trials(NEW, [trial(name, query, wrong=name != "reference" and query == 7) for query in TASKS])
    with served_pages(tmp_path / "trialbed.db", tmp_path, writable=True) as address:
        yield f"{address}/runs/{NEW}"


@pytest.fixture
def large(browser: Any, served: str) -> Iterator[Page]:
    """A browser at this page; errors on it fail the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    errors: list[str] = []
    context.on("console", lambda message: errors.append(str(message)) if message.type == "error" else None)
    context.on("response", lambda response: errors.append(response.url) if response.status >= 400 else None)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    page = context.new_page()
    page.goto(served)
    yield page
    context.close()
    assert errors == []


def test_from_the_newest_run_to_the_call_that_went_wrong_and_its_command(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(f"a[href='/runs/{NEW}']").click()
    page.get_by_role("link", name="langgraph:native on task 1: 0.00, it lacks 21").click()
    page.get_by_role("heading", name="langgraph:native on task").wait_for()
    page.locator(".problems a").first.click()
    expect(page.locator("#call-1")).to_be_in_viewport()
    expect(page.locator("#call-1")).to_contain_text("'city' is a required property")
    raw = page.locator("details.raw").first
    raw.locator("summary").click()
    expect(raw.locator("pre")).to_contain_text('"messages"')
    copy = page.get_by_role("button", name="Copy the command that runs it again")
    copy.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("bench run -f langgraph:native")
    page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden'))")
    page.reload()
    copy.click()
    page.get_by_role("button", name="Selected: press Ctrl-C").wait_for()
    assert page.evaluate("String(window.getSelection())").startswith("bench run -f langgraph:native")


def test_a_run_that_is_followed_says_when_it_was_interrupted(browser: Any, tmp_path: Path) -> None:
    store_file = tmp_path / "trialbed.db"
    make_store(store_file)
    with Store.open(str(store_file)) as store, served_pages(store_file, tmp_path) as address:
        store.update_run(NEW, status="running")
        page = browser.new_page()
        with store.lock(NEW):
            page.goto(f"{address}/runs/{NEW}?outcome=failed")
            expect(page.locator("#status")).to_have_text("running")
            expect(page.locator("tbody th .task")).to_have_count(1)
            page.evaluate("window.loaded = true")
            one = trial("reference", 1, wrong=False)
            key = one.key.model_copy(update={"repeat": 1})
            store.add_trial(NEW, one.model_copy(update={"key": key, "trial": "token-again"}))
            expect(page.get_by_text("5 of 4 trials have ended")).to_be_visible(timeout=15_000)
            assert page.evaluate("window.loaded"), "the page was loaded again"
            expect(page.locator("tbody th .task")).to_have_count(1)
        expect(page.locator("#status")).to_have_text("interrupted", timeout=15_000)
        expect(page.locator("#status")).to_have_class("status status-interrupted")
        page.close()


def test_with_the_tabulator_alone(page: Page, address: str) -> None:
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


def test_keys_go_through_the_grid_and_the_trials_of_the_filtered_list(large: Page) -> None:
    told, focused = large.locator(".peek"), large.locator("td:focus-within")
    expect(told).to_contain_text("Point at a cell")
    large.keyboard.press("j")
    large.keyboard.press("ArrowRight")
    expect(told).to_contain_text("langgraph:native on task 7")
    expect(told).to_contain_text("it lacks 21")
    large.keyboard.press("j")
    expect(told).to_contain_text("langgraph:native on task a/b")
    large.keyboard.press("ArrowUp")
    large.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("data-head", "reference")
    large.get_by_label("Outcome").select_option("right")
    expect(large.locator("td.other")).to_have_count(1)
    large.locator("main").click(position={"x": 2, "y": 2})
    large.keyboard.press("?")
    expect(large.get_by_role("dialog", name="Keys")).to_be_visible()
    large.keyboard.press("Escape")
    large.keyboard.press("j")
    large.keyboard.press("Enter")
    expect(large.locator(".steps")).to_contain_text("trial 1 of 127, right")
    large.keyboard.press("j")
    expect(large.locator(".steps")).to_contain_text("trial 2 of 127, right")
    large.keyboard.press("k")
    expect(large.locator(".steps")).to_contain_text("trial 1 of 127, right")
    large.keyboard.press("u")
    expect(large.get_by_label("Outcome")).to_have_value("right")
    large.keyboard.press("/")
    large.keyboard.type("j")
    expect(large.get_by_label("Task", exact=True)).to_have_value("j")


def test_the_grid_is_filtered_as_one_types_without_loading_the_page_anew(large: Page) -> None:
    rows = large.locator("tbody tr:has(.task)")
    large.evaluate("window.kept = true")
    large.get_by_label("Reason").select_option("wrong answer")
    expect(rows).to_have_count(1)
    assert large.evaluate("window.kept")
    assert "reason=wrong+answer" in large.url
    large.go_back()
    expect(rows).to_have_count(50)
    large.locator(".pages").get_by_role("link", name="Next").click()
    expect(rows).to_have_count(14)
    large.get_by_label("Task", exact=True).press_sequentially("a/b")
    expect(rows).to_have_count(1)
    large.reload()
    expect(rows).to_have_count(1)


def test_without_scripts_a_cell_shows_its_answer_and_a_form_filters(browser: Any, served: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(served)
    page.locator("td a").first.hover()
    expect(page.locator(".tip:visible")).to_contain_text("reference on task 7")
    page.get_by_label("Outcome").select_option("not right")
    page.get_by_label("Task", exact=True).press("Enter")
    expect(page.locator("tbody tr:has(.task)")).to_have_count(1)
    page.context.close()


def test_what_a_person_says_of_an_answer_stays_and_is_exported(large: Page, served: str, tmp_path: Path) -> None:
    large.goto(f"{served}/answers")
    large.get_by_label("Task", exact=True).press_sequentially("a/b")
    expect(large.locator("table.answers tbody tr")).to_have_count(1)
    cell = large.locator("table.answers tbody tr td").first
    cell.get_by_text("Say what you think").click()
    with large.expect_response("**/annotation"):
        cell.get_by_label("Rating").select_option("wrong")
    with large.expect_response("**/annotation"):
        cell.get_by_label("Note").fill("It leaves <b>Rome</b> out.")
        cell.get_by_label("Right answer").focus()
    with large.expect_response("**/annotation"):
        cell.get_by_label("Right answer").fill("21 degrees")
        # The button saves a text that is still being written, too.
        cell.get_by_role("button", name="Save").press("Enter")
    large.reload()
    said = {"Rating": "wrong", "Note": "It leaves <b>Rome</b> out.", "Right answer": "21 degrees"}
    for label, value in said.items():
        expect(cell.get_by_label(label)).to_have_value(value)
    bench = bench_in(tmp_path, own_environment())
    bench("export", NEW, "--store", "trialbed.db", "--format", "jsonl", "--output", "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    (noted,) = [found for line in lines if (found := line.get("annotation"))]
    assert [noted[name] for name in ("rating", "note", "correction")] == [*said.values()]


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


CUT = """parts => parts.filter(
    one => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth
).map(one => one.outerHTML)"""


@pytest.mark.parametrize(
    ("name", "parts", "widths", "media"),
    [
        ("run", ".plot, .plot svg, .wide:visible", (420, 1200, 1280, 1366), "screen"),
        ("answers", ".wide:visible", (420, 1280), "screen"),
        *((name, "table:visible", (PAPER,), "print") for name in ("runs", "run", "trial", "vendors")),
    ],
)
def test_nothing_is_cut_off(
    page: Page, address: str, name: str, parts: str, widths: tuple[int, ...], media: Any
) -> None:
    page.emulate_media(media=media)
    page.goto(address + PATHS[name])
    page.wait_for_load_state("networkidle")
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(parts).count()
        assert page.locator(parts).evaluate_all(CUT) == []


def test_a_grid_that_is_cut_says_so_and_answers_stand_in_print_below_their_setups(page: Page, address: str) -> None:
    page.goto(address + PATHS["run"])
    page.set_viewport_size({"width": 900, "height": 800})
    box = page.locator(".wide:has(> .grid)")
    expect(box).to_have_class("wide")
    page.locator("table.grid").evaluate("grid => { grid.style.width = '1200px'; }")
    page.set_viewport_size({"width": 901, "height": 800})
    expect(box).to_have_class("wide cut")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 800})
    page.goto(address + PATHS["answers"])
    edges = "cells => cells.map(one => one.getBoundingClientRect().left)"
    heads = page.locator("table.answers thead th").evaluate_all(edges)
    assert len(heads) == 3
    for row in page.locator("table.answers tbody tr").all():
        assert row.locator("th, td").evaluate_all(edges) == heads


def test_the_first_page_is_small(page: Page, address: str) -> None:
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(len(response.body())))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    assert len(sizes) >= 4
    assert sum(sizes) < BUDGET
