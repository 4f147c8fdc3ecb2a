"""The findings on the integrity of frameworks, in every page that shows their scores."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.stored_runs import run, trial

from trialbed.cli.runs import command
from trialbed.records import IntegrityFinding
from trialbed.report import read_report
from trialbed.store import Store, open_store
from trialbed_pages import create_app, run_report
from trialbed_pages.runs import GridFilter, GridPage, RunCache

RUN = "20260303T120000-cccccc"
VOID = "strong answered in place of the run&#39;s model"
FOUND = {
    "reference": (IntegrityFinding(kind="forced_call", count=2, examples=("<b>now</b>",)),),
    "cheat": (IntegrityFinding(kind="other_model_answered", count=1, examples=("strong",)),),
    "other": (),
    "late": (),
}


@pytest.fixture
def cheated(tmp_path: Path) -> Path:
    """A store with a run in which the row of one framework is void."""
    path = tmp_path / "cheated.db"
    with Store.open(str(path)) as store:
        store.create_run(run(RUN, datetime(2026, 3, 3, 12, tzinfo=UTC), tuple(FOUND)))
        for framework, findings in FOUND.items():
            for query_id in (1, "a/b"):
                done = trial(framework, query_id, wrong=framework != "cheat")
                store.add_trial(RUN, done.model_copy(update={"integrity": findings}))
    return path


async def test_a_void_row_has_its_reason_in_place_of_scores(cheated: Path, clients: Any) -> None:
    async with clients(create_app(str(cheated), cheated.parent)) as client:
        page, listing = (await client.get(f"/runs/{RUN}")).text, (await client.get("/")).text
        trial_page = (await client.get(f"/runs/{RUN}/trial?framework=reference&query=1")).text
    with open_store(str(cheated)) as reader:
        report = run_report(reader.run(RUN), data_dir=cheated.parent)
    for text in (page, report):
        row = re.search(r'<tr><th scope="row">cheat</th>.*?</tr>', text, re.DOTALL)
        assert row is not None
        assert ">void<" in row[0]
        assert f"cheat: VOID: {VOID}" in text
        assert not re.search(r"[01]\.\d\d\b|>120<|\d %", row[0])
        assert f"cheat has no result that counts, as its row is void: {VOID}." in text
        assert "reference: integrity: 4 calls forced by the request, not scored, in 2 trials (&lt;b&gt;now" in text
    assert re.search(r"<div><span>cheat</span>.*?<b>\u2013</b></div>", listing, re.DOTALL)
    assert "2 calls forced by the request, not scored (&lt;b&gt;now&lt;/b&gt;)" in trial_page


def test_a_void_row_is_in_no_comparison_rank_or_list(cheated: Path) -> None:
    with open_store(str(cheated)) as reader:
        figures = RunCache(cheated.parent).of(reader.run(RUN))
        rows = read_report(reader.run(RUN)).frameworks
    assert [row.framework for row in rows if row.comparisons] == ["other", "late"]
    assert [set(row.ranks or {}) for row in rows] == [ranked := {"sopr_score", "api_call_score"}, set(), ranked, ranked]
    grid = GridPage(figures, "sopr_score", GridFilter())
    assert [[cell.value for cell in row.cells] for row in grid.rows] == [[0.0, None, 0.0, 0.0]] * 2
    listed = CliRunner().invoke(command, ["--store", str(cheated), "--json"])
    assert json.loads(listed.stdout)[0]["sopr_score"] == {"reference": 0.0, "cheat": None, "other": 0.0, "late": 0.0}
