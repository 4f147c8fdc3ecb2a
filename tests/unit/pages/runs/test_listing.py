"""The list of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from support.stored_runs import NEW

from trialbed.records import EndpointInfo
from trialbed.report import ScoreMean
from trialbed.store import open_store
from trialbed_pages.runs.figures import Headline
from trialbed_pages.runs.listing import RunFilter, listing_page

SHARES = (("a", 0.9), ("b", 1.0), ("c", None))


def test_the_list_has_shares_of_answers_of_a_verification(stored: Path) -> None:
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
