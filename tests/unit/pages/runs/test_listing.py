"""The sentence that the list of runs begins with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from support.stored_runs import NEW

from trialbed.records import EndpointInfo, RunStatus
from trialbed.report import ScoreMean
from trialbed.store import open_store
from trialbed_pages.runs.figures import Headline, RunCache
from trialbed_pages.runs.listing import RunFilter, listing_page

SHARES = (("a", 0.9), ("b", 1.0), ("c", None))


def newest(stored: Path, status: RunStatus = "finished", **config: Any) -> str:
    """The sentence of a list whose newest run is this one."""
    chosen = RunFilter(model=config.pop("model", ""))
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        update = {"status": status, "config": run.config.model_copy(update=config)}
        run = replace(run, record=run.record.model_copy(update=update))
        reading = cast("Any", SimpleNamespace(runs=lambda **_: [run], mark=None, place="here"))
        return listing_page(reading, RunCache(stored.parent), chosen).newest


def test_the_list_begins_with_the_first_sentence_of_the_page_of_the_newest_run(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        first = RunCache(stored.parent).of(reader.run(NEW)).conclusions[0]
    assert " not yet shown" in first
    assert newest(stored) == f"In the newest run, {first}"
    plan = '{"tools": {"rate": 0.5, "faults": ["error"]}}'
    assert newest(stored, faults=plan) == f"In the newest run, with injected faults, {first}"


def test_nothing_is_said_of_a_run_that_goes_on_of_chosen_runs_and_of_one_of_many_trials(stored: Path) -> None:
    assert newest(stored, "running") == ""
    assert newest(stored, model="scripted:gold") == ""
    assert newest(stored, repeat=1_000) == ""


def test_the_list_has_shares_of_answers_of_a_verification_and_no_sentence_on_it(stored: Path) -> None:
    asked = [
        EndpointInfo(label=name, model="m", vendor=name, configuration="c", success_rate=rate) for name, rate in SHARES
    ]
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        run = replace(run, record=run.record.model_copy(update={"kind": "endpoints", "endpoints": tuple(asked)}))
        # Only what failed has a value there: 0.
        headline = Headline(9, 1, "sopr_score", [("a", ScoreMean(0.0, None, 1))])
        reading = cast("Any", SimpleNamespace(runs=lambda **_: [run], mark=None, place="here"))
        cache = cast("Any", SimpleNamespace(headline=lambda run: headline))
        page = listing_page(reading, cache, RunFilter())
    assert [(name, mean.value) for name, mean in page.rows[0][1].means] == [("b", 1.0), ("a", 0.9), ("c", None)]
    assert page.newest == ""
