"""The page of a run: its result, its figures, and the tasks against the setups with filters and reasons."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.page_words import words
from support.stored_runs import BEGUN, NEW, OLD, add_begun_run, make_hostile_store, run, trial

from trialbed.cli.runs import command
from trialbed.prices import read_prices
from trialbed.records import (
    AttributedCall,
    EndpointInfo,
    Failure,
    GoldCall,
    IntegrityFinding,
    Score,
    ScoreDescription,
)
from trialbed.report import read_report, worst_queries
from trialbed.store import Store, open_store
from trialbed_pages import create_app, run_report
from trialbed_pages.runs import GridFilter, GridPage, RunCache
from trialbed_pages.runs.run import time_plot

MIXED = "20260404T120000-dddddd"
VOIDED = "20260303T120000-eeeeee"


def follow_each_other(text: str, *parts: str) -> None:
    """Check that a text has these parts, one after the other."""
    for part in parts:
        assert part in text, part
        text = text.partition(part)[2]


async def test_it_begins_with_its_result_and_has_the_best_setup_first_and_the_differences(get: Any) -> None:
    page = (await get(f"/runs/{NEW}")).text
    board = page[page.index("<tbody>") : page.index("</tbody>")]
    assert board.index("reference") < board.index("langgraph:")
    follow_each_other(
        words(page),
        "reference solves most (100 %), but with 2 tasks no difference from it is significant",
        "Tasks",
        "compared with reference difference changed p verdict",
        "solved langgraph:native -1.00 [-1.00, +0.32] 2 of 2 1.000 too few (8)",
        "right tools langgraph:native -0.50 [-0.91, +0.49] 1 of 2 1.000 too few (20)",
        "too few: too few tasks to tell",
    )
    assert "put to the model in another dialect, as its endpoint does not speak" in page
    listed = words((await get("/")).text)
    newest, older = listed[listed.index(NEW) : listed.index(OLD)], listed[listed.index(OLD) :]
    assert "finished 3 of 4 without failure 1 failed" in newest
    assert "finished 2 of 2 without failure reference" in older


@pytest.mark.parametrize("part", ["", "/answers"])
async def test_a_run_under_way_is_looked_at_again_and_lacks_nothing_yet(get: Any, stored: Path, part: str) -> None:
    add_begun_run(stored)
    with Store.open(str(stored)) as store:
        for is_running in (True, False):
            with store.lock(BEGUN) if is_running else nullcontext():
                answer = await get(f"/runs/{BEGUN}{part}")
            assert answer.status_code == 200
            if not part:
                assert ("0 of 4 trials have ended" in answer.text) == ('hx-trigger="every' in answer.text) == is_running
                assert ("INCOMPLETE: 4 trials were not measured" in answer.text) != is_running
                assert "No setup has a result yet: 4 trials were not measured." in answer.text


async def test_a_run_that_is_incomplete_says_why_and_how_to_complete_it(get: Any, stored: Path) -> None:
    add_begun_run(stored, ("reference",))
    failure = Failure(kind="replay", message="request 1 is not the recorded one")
    with Store.open(str(stored)) as store:
        for query_id in (1, "a/b"):
            lost = trial("reference", query_id, wrong=False)
            outcome = lost.outcome.model_copy(update={"answer": None, "failure": failure})
            store.add_trial(BEGUN, lost.model_copy(update={"outcome": outcome, "scores": ()}))
        store.update_run(BEGUN, status="incomplete")
    text = (await get(f"/runs/{BEGUN}")).text
    assert "reference: 2 of 2 trials were not measured (replay): request 1 is not the recorded one" in text
    assert "INCOMPLETE: 2 trials were not measured; the same command with --on-miss ask" in text


async def test_a_run_with_prices_shows_its_costs(stored: Path, get: Any) -> None:
    assert "cost" not in (await get(f"/runs/{NEW}")).text
    add_begun_run(stored, ("reference",))
    scores = (Score(name="sopr_score", value=1.0, label="Solved"), Score(name="cost", value=0.25, bounded=False))
    with Store.open(str(stored)) as store:
        store.update_run(BEGUN, prices={"scripted:gold": read_prices("1000,0")}, status="finished")
        for query_id in (1, "a/b"):
            priced = {"cost": 0.1, "scores": scores}
            store.add_trial(BEGUN, trial("reference", query_id, wrong=False).model_copy(update=priced))
    page = (await get(f"/runs/{BEGUN}")).text
    for cell in ("$0.25", "0.2", "0.1"):  # of a trial; of all trials; of each that is solved
        assert re.search(rf"<td[^>]*>{re.escape(cell)}</td>", page)


async def test_a_run_whose_dataset_is_edited_meanwhile_is_shown_with_its_own_tasks(
    tmp_path: Path, clients: Any
) -> None:
    make_hostile_store(tmp_path / "trialbed.db", "Weather in Lima?")
    dataset = tmp_path / "queries.json"
    async with clients(create_app(str(tmp_path / "trialbed.db"), tmp_path)) as client:
        assert "tasks are not shown" not in (await client.get(f"/runs/{NEW}")).text
        dataset.write_text(dataset.read_text("utf-8").replace("Lima?", "Rome?"), "utf-8")
        answer = await client.get(f"/runs/{NEW}")
        assert (answer.status_code, "Lima?" in answer.text, "Rome?" in answer.text) == (200, True, False)


def cells(page: str) -> list[list[str]]:
    """The words of each row of the grid, cell by cell."""
    body = page[page.index('<table class="grid') :].partition("<tbody>")[2].partition("</tbody>")[0]
    return [list(map(words, re.split(r"(?=<t[dh][ >])", row)[1:])) for row in re.split(r"(?=<tr>)", body)[1:]]


@pytest.fixture
def mixed(stored: Path) -> Path:
    """A store with a run of two repeats, in which an expected call was lost, and an answer was wrong once."""
    lost = AttributedCall(
        gold=GoldCall(api=trial("reference", 1, wrong=False).wire.api_calls[0].api),
        lost="not made",
        reason="the framework ended the run at a call that cannot be made: invalid json",
    )
    made = run(MIXED, datetime(2026, 4, 4, tzinfo=UTC), ("reference", "langgraph:native"))
    config = made.config.model_copy(update={"repeat": 2, "tags": {"<weather>": (1,)}})
    with Store.open(str(stored)) as store:
        store.create_run(made.model_copy(update={"config": config}))
        for framework in config.frameworks:
            for query in config.query_ids:
                for repeat in (0, 1):
                    is_wrong = framework != "reference" or (query == 1 and repeat == 1)
                    one = trial(framework, 1, wrong=is_wrong)
                    key = one.key.model_copy(update={"query_id": query, "repeat": repeat})
                    calls = (lost,) if framework != "reference" else ()
                    named = {"key": key, "trial": f"{framework}-{query}-{repeat}", "gold_calls": calls}
                    store.add_trial(MIXED, one.model_copy(update=named))
    return stored


async def test_a_cell_that_is_not_right_has_its_reason_and_leads_to_a_repeat_that_failed(mixed: Path, get: Any) -> None:
    page = (await get(f"/runs/{MIXED}?sort=as+in+the+dataset")).text
    (first, *by_reference), (_, right, _) = cells(page)
    assert first == "1"
    assert by_reference[0].startswith("\N{CIRCLE WITH LEFT HALF BLACK} 0.50 it lacks 21 reference on task 1, repeat 1")
    assert by_reference[1].startswith("\N{BALLOT X} framework: not made langgraph:native on task 1, repeat 0")
    assert "framework: not made : now: the framework ended the run at a call" in by_reference[1]
    assert "???[2Jcleared" in by_reference[1]
    assert right.startswith("\N{CHECK MARK} reference on task a/b, repeat 0")
    assert "framework=reference&amp;query=1&amp;repeat=1&amp;sort=as" in page
    # The page of answers shows the same repeat.
    assert "framework=reference&amp;query=1&amp;repeat=1" in (await get(f"/runs/{MIXED}/answers")).text


SHOWN = {
    "": "1 a/b",
    "outcome=not+right": "1 a/b",
    "outcome=right": "a/b",
    "outcome=setups+differ": "1 a/b",
    "outcome=failed": "",
    "outcome=nosuch": "1 a/b",
    "reason=wrong+answer": "1",
    "reason=framework%3A+not+made": "1 a/b",
    "outcome=right&reason=wrong+answer": "",
    "tag=%3Cweather%3E": "1",
    "tag=nosuch": "",
    "text=A/B": "a/b",
    "text=nowhere": "",
    "sort=as+in+the+dataset": "1 a/b",
    "page=2": "",
}
"""Parameters of an address, and the tasks that it shows."""


@pytest.mark.parametrize("part", ["", "/answers"])
async def test_tasks_are_filtered_and_ordered_by_the_address(mixed: Path, get: Any, part: str) -> None:
    for parameters, shown in SHOWN.items():
        page = (await get(f"/runs/{MIXED}{part}?{parameters}")).text
        assert [row[0].split()[0] for row in cells(page)] == shown.split(), parameters
    page = (await get(f"/runs/{MIXED}{part}?reason=wrong+answer")).text
    assert '<option value="wrong answer" selected>wrong answer (1)</option>' in page
    assert '<option value="&lt;weather&gt;">&lt;weather&gt;</option>' in page
    assert "1\N{EN DASH}1 of 1 task (of 2)" in words(page)


async def test_a_trial_has_the_next_and_the_previous_one_of_the_filtered_list(mixed: Path, get: Any) -> None:
    filtered = "outcome=not+right&reason=framework%3A+not+made"
    page = (await get(f"/runs/{MIXED}/trial?framework=langgraph%3Anative&query=1&{filtered}")).text
    assert "trial 1 of 2, not right, framework: not made" in words(page)
    (after,) = re.findall(r'rel="next" href="([^"]*)"', page)
    assert 'rel="prev"' not in page
    page = (await get(after.replace("&amp;", "&"))).text
    assert "trial 2 of 2" in words(page)
    assert "langgraph:native on task a/b" in words(page)
    (back,) = re.findall(r'rel="up" href="([^"]*)"', page)
    assert back.replace("&amp;", "&") == f"/runs/{MIXED}?{filtered}"
    # A trial that is not in the list leads to the first that is.
    page = (await get(f"/runs/{MIXED}/trial?framework=reference&query=1&outcome=right")).text
    assert "1 trial, right → reference on task a/b" in words(page)


def test_a_large_run_is_shown_in_pages(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = GridPage(RunCache(stored.parent).of(reader.run(NEW)), GridFilter(page=2), size=1)
        assert ([row.query for row in page.rows], page.begin, page.last, len(page.answers)) == (["a/b"], 1, 2, 1)


def test_tasks_stand_in_the_order_of_the_report_the_hardest_first(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        page = GridPage(RunCache(stored.parent).of(reader.run(NEW)), GridFilter())
        worst = [query.query_id for query in worst_queries(read_report(reader.run(NEW)))]
    assert [row.query for row in page.rows][: len(worst)] == worst


def test_means_are_those_of_the_report_and_the_measure_of_the_dataset_leads(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        figures, report = RunCache(stored.parent).of(reader.run(NEW)), read_report(reader.run(NEW))
        for summary in report.frameworks:
            for score in ("sopr_score", "api_call_score", "total_tokens"):
                found, own = figures.mean(summary.framework, score), summary.scores[score]
                assert (found.value, found.interval, found.denominator) == (own.value, own.interval, own.denominator)
        described = {name: ScoreDescription(name, leads=True) for name in ("bfcl_correct", "api_call_score")}
        store.update_run(NEW, scores=described)
        assert RunCache(stored.parent).of(reader.run(NEW)).headline == ("api_call_score", "sopr_score")


async def test_the_list_of_runs_has_the_means_of_the_report_and_of_a_verification_the_shares_of_answers(
    stored: Path, get: Any
) -> None:
    setups = ("reference", "langgraph:native")
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        store.create_run(run(BEGUN, datetime(2026, 3, 3, tzinfo=UTC), setups))
        for framework, query_id in ((setups[0], 1), (setups[0], "a/b"), (setups[1], 1)):
            store.add_trial(BEGUN, trial(framework, query_id, wrong=query_id == 1))
        store.update_run(BEGUN, status="incomplete")
        finished, incomplete = (RunCache(stored.parent).headline(reader.run(run_id)) for run_id in (NEW, BEGUN))
        assert (finished.answered, finished.failed) == (3, 1)
        assert [(name, mean.value) for name, mean in finished.means] == [(setups[0], 1.0), (setups[1], 0.0)]
        # Those of a run that lacks trials are over the task that both have.
        assert (incomplete.answered, incomplete.failed) == (3, 0)
        assert [(mean.value, mean.denominator) for _, mean in incomplete.means] == [(0.0, 1)] * 2
        asked = [
            EndpointInfo(label=name, model="m", vendor=name, configuration="c", success_rate=rate)
            for name, rate in (("a", 0.9), ("b", 1.0), ("c", None))
        ]
        store.create_run(
            reader.run(NEW).record.model_copy(update={"run_id": MIXED, "kind": "endpoints", "endpoints": tuple(asked)})
        )
    listed = words((await get("/")).text)
    assert "b 1.00 a 0.90 c \N{EN DASH}" in listed


def test_figures_are_kept_until_the_run_changes(stored: Path) -> None:
    cache = RunCache(stored.parent)
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        first = cache.of(reader.run(NEW))
        assert cache.of(reader.run(NEW)) is first
        later = {"attempt": 1, "adapter_digest": "changed"}
        store.add_trial(NEW, trial("langgraph:native", 1, wrong=False).model_copy(update=later))
        second = cache.of(reader.run(NEW))
        store.add_scores(NEW, reader.run(NEW).attempts()[0], [Score(name="new", value=0.5)])
        third = cache.of(reader.run(NEW))
    assert [one.mean("langgraph:native", "sopr_score").value for one in (first, second, third)] == [0.0, 0.5, 0.5]
    assert [one.mean("reference", "new").value for one in (first, second, third)] == [None, None, 0.5]


WHOLE = {"wall_time": 2.0, "model_time": 1.0, "tool_time": 0.5, "framework_time": 0.5}


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({}, {"model": 1.0, "tools": 0.5, "framework": 0.5}),
        ({"model_time": 0.75}, {"model": 0.75, "tools": 0.5, "framework": 0.5, "waiting": 0.25}),
        ({"model_time": None}, {"tools": 0.5, "framework": 0.5, "not known": 1.0}),
    ],
)
async def test_the_plot_of_times_has_every_part_and_says_what_is_not_known(
    stored: Path, get: Any, changed: dict[str, float | None], parts: dict[str, float]
) -> None:
    assert "means, in seconds" not in (await get(f"/runs/{NEW}")).text
    given = {name: value for name, value in (WHOLE | changed).items() if value is not None}
    scores = [Score(name=name, value=value, bounded=False) for name, value in given.items()]
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        for result in list(store.each_attempt(NEW)):
            if result.outcome.answer is not None and result.key.framework == "reference":
                store.add_scores(NEW, result, scores)
        figures = RunCache(stored.parent).of(reader.run(NEW))
        bars = {bar.label: (bar.parts, bar.text) for bar in time_plot(figures, figures.run.config.frameworks).bars}
    assert bars == {"reference": (parts, "2"), "langgraph:native": ({}, "-")}
    assert "means, in seconds" in (await get(f"/runs/{NEW}")).text


FOUND = {
    "reference": (IntegrityFinding(kind="forced_call", count=2, examples=("<b>now</b>",)),),
    "cheat": (IntegrityFinding(kind="other_model_answered", count=1, examples=("strong",)),),
    "other": (),
    "late": (),
}


async def test_a_void_row_has_its_reason_in_place_of_scores_in_every_output(tmp_path: Path, clients: Any) -> None:
    path = tmp_path / "cheated.db"
    with Store.open(str(path)) as store:
        store.create_run(run(VOIDED, datetime(2026, 3, 3, 12, tzinfo=UTC), tuple(FOUND)))
        for framework, findings in FOUND.items():
            for query_id in (1, "a/b"):
                done = trial(framework, query_id, wrong=framework != "cheat")
                store.add_trial(VOIDED, done.model_copy(update={"integrity": findings}))
    async with clients(create_app(str(path), tmp_path)) as client:
        page, listing = (await client.get(f"/runs/{VOIDED}")).text, (await client.get("/")).text
        trial_page = (await client.get(f"/runs/{VOIDED}/trial?framework=reference&query=1")).text
    with open_store(str(path)) as reader:
        report = run_report(reader.run(VOIDED), data_dir=tmp_path)
        rows = read_report(reader.run(VOIDED)).frameworks
        grid = GridPage(RunCache(tmp_path).of(reader.run(VOIDED)), GridFilter())
    void = "strong answered in place of the run&#39;s model"
    for text in (page, report):
        row = re.search(r'<tr><th scope="row">cheat</th>.*?</tr>', text, re.DOTALL)
        assert row is not None
        assert ">void<" in row[0]
        assert f"cheat: VOID: {void}" in text
        assert not re.search(r"[01]\.\d\d\b|>120<|\d %", row[0])
        assert f"cheat has no result that counts, as its row is void: {void}." in text
        assert "reference: integrity: 4 calls forced by the request, not scored, in 2 trials (&lt;b&gt;now" in text
    assert re.search(r"<div><span>cheat</span>.*?<b>\u2013</b></div>", listing, re.DOTALL)
    assert "2 calls forced by the request, not scored (&lt;b&gt;now&lt;/b&gt;)" in trial_page
    assert [row.framework for row in rows if row.comparisons] == ["other", "late"]
    assert [set(row.ranks or {}) for row in rows] == [ranked := {"sopr_score", "api_call_score"}, set(), ranked, ranked]
    assert [[cell.value for cell in row.cells] for row in grid.rows] == [[0.0, None, 0.0, 0.0]] * 2
    listed = json.loads(CliRunner().invoke(command, ["--store", str(path), "--json"]).stdout)
    assert listed[0]["sopr_score"] == {"reference": 0.0, "cheat": None, "other": 0.0, "late": 0.0}
