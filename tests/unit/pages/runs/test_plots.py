"""The plots of a run, where a figure is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.stored_runs import NEW

from trialbed.records import Score
from trialbed.store import Store, open_store
from trialbed_pages.runs import RunCache
from trialbed_pages.runs.run import time_plot

WHOLE = {"wall_time": 2.0, "tool_time": 0.5, "framework_time": 0.5}


def add_times(stored: Path, times: dict[str, dict[str, float]]) -> None:
    """Give the trials of each framework these times."""
    with Store.open(str(stored)) as store:
        for result in list(store.each_attempt(NEW)):
            if result.outcome.answer is not None:
                found = times.get(result.key.framework, {})
                scores = [Score(name=name, value=value, bounded=False) for name, value in found.items()]
                store.add_scores(NEW, result, scores)


def times_of(stored: Path) -> dict[str, tuple[dict[str, float], str | None]]:
    """The bars of the times by name, each with its parts and its figure."""
    with open_store(str(stored)) as reader:
        figures = RunCache(stored.parent).of(reader.run(NEW))
        return {
            bar.label: (dict(bar.parts), bar.text) for bar in time_plot(figures, figures.run.config.frameworks).bars
        }


@pytest.mark.parametrize(("model", "rest"), [(1.0, {}), (0.75, {"waiting": 0.25})])
def test_a_bar_whose_times_are_known_has_them_and_the_waiting(
    stored: Path, model: float, rest: dict[str, float]
) -> None:
    times = {**WHOLE, "model_time": model}
    add_times(stored, {"reference": times, "langgraph:native": times})
    parts = {"model": model, "tools": 0.5, "framework": 0.5, **rest}
    assert times_of(stored) == {"reference": (parts, "2"), "langgraph:native": (parts, "2")}


def test_a_time_that_is_not_known_is_said_in_the_bar(stored: Path) -> None:
    add_times(stored, {"reference": WHOLE, "langgraph:native": {**WHOLE, "model_time": 1.0}})
    bars = times_of(stored)
    assert bars["reference"] == ({"tools": 0.5, "framework": 0.5, "not known": 1.0}, "2")
    assert "not known" not in bars["langgraph:native"][0]


async def test_a_framework_without_any_time_has_no_bar_and_a_run_without_any_no_plot(stored: Path, get: Any) -> None:
    assert "means, in seconds" not in (await get(f"/runs/{NEW}")).text
    add_times(stored, {"reference": {**WHOLE, "model_time": 1.0}})
    assert times_of(stored)["langgraph:native"] == ({}, "-")
    assert "means, in seconds" in (await get(f"/runs/{NEW}")).text
