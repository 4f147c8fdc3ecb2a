"""Trials for plugins to look at: of the embedded dataset, as they end well, badly and strangely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from trialbed.contracts import Dataset, DatasetDriver, Judge, Verdict
from trialbed.drivers import load_driver
from trialbed.model_access import ModelAccess, RelayedModel
from trialbed.records import Answer, Api, ApiCall, ModelEndpoint, Query, Timing, ToolSpec, WireLog
from trialbed.scoring import ScoreContext

LONG = 300_000
"""Characters of a long answer."""

STRANGE = "\u202eevil\u0000 <script>alert(1)</script> 🎉 ß ﬁ \\ud800 %s {0}"


@cache
def sample_dataset() -> Dataset:
    """The embedded dataset."""
    driver = cast("DatasetDriver", load_driver("datasets", "mini")())
    return driver.open(None, Path())


def sample_queries() -> Sequence[Query]:
    """Queries with one expected call, with several, and one without any tool."""
    first = sample_dataset().queries()[:4]
    bare = first[0].model_copy(update={"query_id": "bare", "apis": (), "gold_calls": (), "reference_facts": ()})
    return (*first, bare)


ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:9/v1", api_key="none", model="sample")
"""An address without a server."""


def model_that_says(reply: Callable[[], str]) -> ModelAccess:
    """A model for plugins that ask one: it says the same to everything."""
    return RelayedModel(ENDPOINT, lambda step, _: reply() if step == "reply" else None)


class SolvedJudge(Judge):
    """Finds every answer solved."""

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:  # noqa: ARG002 - the contract's
        """Return the same verdict for all."""
        return Verdict(status="Solved", value=1.0, reason="it is a sample", votes=("Solved",))


def sample_trials() -> Mapping[str, ScoreContext]:
    """Trials made anew, by their looks."""
    query = sample_queries()[1]
    right = _trial(query, " ".join(query.reference_facts) or "It is done.")
    failed = tuple(call.model_copy(update={"error": "no such city", "response": None}) for call in right.wire.api_calls)
    twice = right.wire.model_copy(update={"api_calls": right.wire.api_calls * 2})
    said = replace(right, answer=Answer(final_answer=right.text, calls=(), reports_calls=True))
    return {
        "a right answer": right,
        "an empty answer without calls": _trial(query, "", calls=()),
        "an answer without calls": _trial(query, "I do not know.", calls=()),
        "calls that failed": replace(right, wire=right.wire.model_copy(update={"api_calls": failed})),
        "every call twice": replace(right, wire=twice),
        "no call claimed": said,
        "strange characters": _trial(query, STRANGE),
        "a long answer": _trial(query, "word " * (LONG // 5)),
        "a query without tools": _trial(sample_queries()[-1], "Hello."),
    }


def _trial(query: Query, text: str, calls: Sequence[ApiCall] | None = None) -> ScoreContext:
    made = tuple(_calls(query)) if calls is None else tuple(calls)
    return ScoreContext(
        query=query,
        tools=_selection(query.query_id),
        answer=Answer(final_answer=text),
        wire=WireLog(trial="sample-trial", opened_at=datetime(2025, 1, 1, tzinfo=UTC), api_calls=made),
        timing=Timing(wall=1.0, model=0.5, tool=0.25, framework=0.25),
        judge=SolvedJudge(),
        judge_name="sample",
    )


def _calls(query: Query) -> list[ApiCall]:
    return [
        ApiCall(
            started=float(number),
            duration=0.1,
            api=call.api,
            offered=True,
            arguments=dict(call.arguments or {}),
            response={"found": query.reference_facts[:1]},
            provenance="mini",
        )
        for number, call in enumerate(query.gold_calls)
    ]


@cache
def _selection(query_id: int | str) -> tuple[ToolSpec, ...]:
    query = next(one for one in sample_queries() if one.query_id == query_id)
    apis: Sequence[Api] = query.apis
    stage: Any = load_driver("components", "selection").open_selection(apis)
    found: tuple[ToolSpec, ...] = stage.tools(query, load_driver("selectors", "query")(), max_tools=120)
    return found
