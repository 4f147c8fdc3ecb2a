"""The page of answers in a browser: filter, next and previous, and what a person says of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.bench import bench_in, own_environment
from support.served_pages import served_pages
from support.stored_runs import NEW, run, trial

from trialbed.store import Store

pytestmark = pytest.mark.slow(15)

QUERIES = ("a/b", *range(1, 14))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The pages of a store of its own: people write to it."""
    made = run(NEW, datetime(2026, 2, 2, tzinfo=UTC), ("reference",))
    made = made.model_copy(update={"config": made.config.model_copy(update={"query_ids": QUERIES})})
    with Store.open(str(tmp_path / "trialbed.db")) as store:
        store.create_run(made)
        for query in QUERIES:
            store.add_trial(NEW, trial("reference", query, wrong=False))
    with served_pages(tmp_path / "trialbed.db", tmp_path, writable=True) as address:
        yield address


@pytest.fixture
def answers(browser: Any, served: str) -> Iterator[Page]:
    """The page of answers of the newer run; errors on it fail the test."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    errors: list[str] = []
    context.on("console", lambda message: errors.append(str(message)) if message.type == "error" else None)
    context.on("response", lambda response: errors.append(response.url) if response.status >= 400 else None)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    page = context.new_page()
    page.goto(f"{served}/runs/{NEW}/answers")
    yield page
    context.close()
    assert errors == []


def test_answers_are_filtered_as_one_types_and_turned_page_by_page(answers: Page) -> None:
    rows = answers.locator("table.answers tbody tr")
    expect(rows).to_have_count(10)
    answers.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(4)
    answers.get_by_role("link", name="Previous").click()
    expect(rows).to_have_count(10)
    answers.get_by_label("Id or text").press_sequentially("a/b")
    # Nothing was clicked.
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("a/b")
    assert "text=a%2Fb" in answers.url
    answers.reload()
    expect(rows).to_have_count(1)


def test_what_a_person_says_of_an_answer_stays_and_is_exported(answers: Page, tmp_path: Path) -> None:
    answers.get_by_label("Id or text").press_sequentially("a/b")
    cell = answers.locator("table.answers tbody tr td").first
    expect(answers.locator("table.answers tbody tr")).to_have_count(1)
    cell.get_by_text("Say what you think").click()
    expect(cell.get_by_role("button", name="Save")).to_be_visible()
    with answers.expect_response("**/annotation"):
        cell.get_by_label("Rating").select_option("wrong")
    with answers.expect_response("**/annotation"):
        cell.get_by_label("Note").fill("It leaves <b>Rome</b> out.")
        cell.get_by_label("Right answer").focus()
    with answers.expect_response("**/annotation"):
        cell.get_by_label("Right answer").fill("21 degrees")
        # The button saves a text that is still being written, too.
        cell.get_by_role("button", name="Save").press("Enter")
    answers.reload()
    said = answers.locator("table.answers tbody tr td").first
    expect(said.get_by_label("Rating")).to_have_value("wrong")
    expect(said.get_by_label("Note")).to_have_value("It leaves <b>Rome</b> out.")
    expect(said.get_by_label("Right answer")).to_have_value("21 degrees")
    bench = bench_in(tmp_path, own_environment())
    bench("export", NEW, "--store", "trialbed.db", "--format", "jsonl", "--output", "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    noted = [found for line in lines if (found := line.get("annotation"))]
    assert [{name: one[name] for name in ("rating", "note", "correction")} for one in noted] == [
        {"rating": "wrong", "note": "It leaves <b>Rome</b> out.", "correction": "21 degrees"}
    ]
