from __future__ import annotations

from typing import Any

import click
import pytest
from support.cases import for_each
from support.run_reports import reported, summary

from trialbed.attribution import ENDED
from trialbed.cli.options import NumberOrNumbers
from trialbed_plugins.reporters._offers import offer_tables


def call(lost: str | None, reason: str = "") -> dict[str, Any]:
    return {"api": ["t", "a"], "arguments": None, "lost": lost, "reason": reason}


def document(name: str, tools: int, *entries: dict[str, Any], status: str = "finished") -> dict[str, Any]:
    return {
        "metadata": {"agent_name": name, "max_tools": tools, "status": status},
        "summary": {"average_sopr_score": 0.5, "average_api_call_score": 0.25},
        "results": list(entries),
    }


def test_each_lost_call_has_a_loser() -> None:
    calls = [
        call(None),
        call("not offered", "its tool was not selected"),
        call("not offered", "the framework's offer: no tools"),
        call("not called", "the model did not ask for it"),
        call("wrong arguments", "city is missing"),
        call("wrong arguments", "the framework's offer: arguments"),
        call("not called", f"{ENDED}: not JSON"),
        call("not made"),
        call("not used"),
        call("not used", "the framework did not tell the model of its response"),
        call(
            "not used",
            "the framework gave another answer than the model's last text, which has something of its response",
        ),
        call("api failed", "500"),
    ]
    found = summary(document("a", 8, {"gold_calls": calls}, {})).attribution
    assert found is not None
    assert (found.gold_calls, found.losers) == (12, {"selector": 1, "framework": 6, "model": 3, "rig": 1})


@for_each(
    ("kind", "loser"),
    [("agent", "framework"), ("timeout", "framework"), ("model", "model"), ("limit", "model"), ("judge", "rig")],
)
def test_the_calls_of_a_failed_trial_are_lost_by_what_failed(kind: str, loser: str) -> None:
    entry = {"gold_calls": [call("trial failed", "before it was called")], "error": {"kind": kind}}
    found = summary(document("a", 8, entry)).attribution
    assert found is not None
    assert (found.gold_calls, found.losers) == (1, {loser: 1})


def test_the_table_is_sorted_by_framework_and_number_and_says_what_is_incomplete() -> None:
    lost = {"gold_calls": [call("not offered"), call(None)]}
    documents = (document("b", 16, lost), document("a", 16), document("b@max_tools=8", 8, status="incomplete"))
    documents[2]["summary"]["not_measured_count"] = 1
    (table,) = offer_tables(reported(*documents))
    assert [line[:2] for line in table.lines] == [("b", "8"), ("b", "16"), ("a", "16")]
    assert table.lines[1] == ("b", "16", "0.500", "0.250", "-", "1 50%", "0 0%", "0 0%", "0 0%")
    assert table.notes == ["INCOMPLETE: 1 trial of b with 8 tools was not measured."]
    assert offer_tables(reported(document("a", 8), document("b", 8))) == []


@for_each(("text", "value"), [("8", 8), ("16, 8,8", (8, 16)), (5, 5)])
def test_numbers_of_tools(text: Any, value: Any) -> None:
    assert NumberOrNumbers().convert(text, None, None) == value


@for_each("text", ["", "0", "8,", "x", "8;16", "-1"])
def test_what_is_no_number_of_tools_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a number from 1 on, or several"):
        NumberOrNumbers().convert(text, None, None)
