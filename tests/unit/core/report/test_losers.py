"""Who lost each expected call."""

from __future__ import annotations

from typing import Any

from support.cases import for_each
from support.run_reports import summary

from trialbed.attribution import ENDED


def call(lost: str | None, reason: str = "") -> dict[str, Any]:
    return {"api": ["t", "a"], "arguments": None, "lost": lost, "reason": reason}


def document(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"agent_name": "a"}, "summary": {}, "results": list(entries)}


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
    found = summary(document({"gold_calls": calls}, {})).attribution
    assert found is not None
    assert (found.gold_calls, found.losers) == (12, {"selector": 1, "framework": 6, "model": 3, "rig": 1})
    assert found.right == 5


@for_each(
    ("kind", "loser"),
    [("agent", "framework"), ("timeout", "framework"), ("model", "model"), ("limit", "model"), ("judge", "rig")],
)
def test_the_calls_of_a_failed_trial_are_lost_by_what_failed(kind: str, loser: str) -> None:
    entry = {"gold_calls": [call("trial failed", "before it was called")], "error": {"kind": kind}}
    found = summary(document(entry)).attribution
    assert found is not None
    assert (found.gold_calls, found.losers, found.right) == (1, {loser: 1}, 0)
