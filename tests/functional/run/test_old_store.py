"""A run that an older version of Trialbed began goes on."""

from __future__ import annotations

import asyncio
import shutil
from importlib.metadata import distribution
from pathlib import Path

from support.distributions import FakeDistribution

from trialbed.engine import RunOptions
from trialbed.records import TrialResult
from trialbed.report import legacy_documents
from trialbed.run_report import run_and_report
from trialbed.store import Store

STORES = Path(__file__).parents[2] / "support" / "stores"


def test_an_unfinished_run_of_the_first_version_is_resumed(tmp_path: Path, fake_distribution: FakeDistribution) -> None:
    """The version is part of a run's identity, so it is held at the one that began the run."""
    points: dict[str, dict[str, str]] = {}
    for entry in distribution("trialbed").entry_points:
        points.setdefault(entry.group, {})[entry.name] = entry.value
    fake_distribution("trialbed", "0.1.0", entry_points=points, modules={})
    path = shutil.copy(STORES / "version-1.db", tmp_path / "trialbed.db")
    options = RunOptions(
        limit=3,
        seed=1,
        max_steps=9,
        store=str(path),
        output=tmp_path / "results",
        response_cache=tmp_path / "responses.db",
    )
    with Store.open(str(path)) as store:
        begun = store.runs()[0]
        kept: list[TrialResult] = store.results(begun.run_id)
    assert (begun.status, len(kept)) == ("interrupted", 2)
    document = legacy_documents(asyncio.run(run_and_report(options)))[0]
    assert document["metadata"]["run_id"] == begun.run_id
    assert [entry["trial"] for entry in document["results"]][:2] == [result.trial for result in kept]
    assert document["summary"]["average_sopr_score"] == 1.0
    assert len(document["results"]) == 3
