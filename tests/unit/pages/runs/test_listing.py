"""The sentence that the list of runs begins with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.stored_runs import NEW

from trialbed.records import EndpointInfo, RunStatus
from trialbed.store import open_store
from trialbed_pages.runs.headlines import FigureMean, Headline
from trialbed_pages.runs.listing import ListingPage, RunChoices, RunFilter, listing_page

SHARES = (("a", 0.9), ("b", 1.0), ("c", None))


def newest(stored: Path, score: str, means: dict[str, float], status: RunStatus = "finished") -> str:
    """The sentence of a list whose newest run has these means."""
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
    run = replace(run, record=run.record.model_copy(update={"status": status}))
    found = [(name, FigureMean(mean, None, 2)) for name, mean in means.items()]
    row = run, Headline.of({"answered": 2, "failed": 0}, score, found)
    return ListingPage(RunFilter(), RunChoices(1, (), (), (), (), ()), [row], more=False, place="").newest


@pytest.mark.parametrize(
    ("score", "means", "said"),
    [
        ("sopr_score", {"a": 1.0}, "a solves 100 % of its queries"),
        ("sopr_score", {"a": 0.502, "b": 0.501}, "each of the 2 set-ups solves 50 % of its queries"),
        ("sopr_score", {"b": 0.5, "a": 1.0}, "a solves the most of its queries, 100 %, and b the least, 50 %"),
        (
            "sopr_score",
            {"a": 0.502, "b": 0.501, "c": 0.4, "d": 0.3, "e": 0.3, "f": 0.3},
            "a and b solve the most of their queries, 50 %, and d, e and f the least, 30 %",
        ),
        ("api_call_score", {"a": 1.0, "b": 0.5}, "expected Apis called goes from 0.50 (b) to 1.00 (a)"),
        ("api_call_score", {"a": 0.5}, "a has 0.50 in expected Apis called"),
    ],
)
def test_all_set_ups_with_the_same_shown_result_are_named(
    stored: Path, score: str, means: dict[str, float], said: str
) -> None:
    assert newest(stored, score, means) == f"In the newest run, {said}."


def test_the_list_has_shares_of_answers_of_a_verification_and_no_sentence_on_it(stored: Path) -> None:
    asked = [
        EndpointInfo(label=name, model="m", vendor=name, configuration="c", success_rate=rate) for name, rate in SHARES
    ]
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        run = replace(run, record=run.record.model_copy(update={"kind": "endpoints", "endpoints": tuple(asked)}))
        # Only what failed has a value there: 0.
        headline = Headline.of({"answered": 9, "failed": 1}, "sopr_score", [("a", FigureMean(0.0, None, 1))])
        reading = cast("Any", SimpleNamespace(runs=lambda **_: [run], mark=None, place="here"))
        cache = cast("Any", SimpleNamespace(of_store=lambda mark, read: None, headline=lambda run: headline))
        page = listing_page(reading, cache, RunFilter())
    assert [(name, mean.value) for name, mean in page.rows[0][1].means] == [("b", 1.0), ("a", 0.9), ("c", None)]
    assert page.newest == ""


def test_nothing_is_said_of_a_run_that_goes_on(stored: Path) -> None:
    assert newest(stored, "sopr_score", {"a": 1.0, "b": 0.5}, "running") == ""
