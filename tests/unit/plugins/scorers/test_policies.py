"""What the scores of calls, arguments and results say of every policy, through a loop that changes nothing."""

from __future__ import annotations

import pytest
from support.played import MAX_STEPS, Played, play, queries
from support.scoring import Attributed, attribution_of

from trialbed.attribution import attribute
from trialbed_plugins.scorers import score_trial
from trialbed_scripted import POLICIES

QUERIES = [query for query in queries() if len(query.gold_apis) == len(query.gold_calls)][:20]
"""Without those that call an Api twice: one call of it goes some way towards the other."""

SCORES = ("argument_accuracy", "tool_call_f1", "call_success", "recovered", "redundant_calls", "used_results")

LOST = {"none": "not called", "loop": "not used", "giveup": "not used", "wrong-args": "wrong arguments"}
"""Policy -> where the first gold call is lost."""


def right(policy: str, n: int) -> tuple[float | None, ...]:
    """The values of ``SCORES`` for a query with so many gold calls; None where there is no such score."""
    match policy:
        case "gold" | "slow" | "parallel" | "reordered":
            return 1, 1, 1, None, 0, 1
        case "none":
            return 0, 0, 0, None, 0, None
        case "partial":
            return (n - 1) / n, 2 * (n - 1) / (2 * n - 1), float(n > 1), None, 0, 1 if n > 1 else None
        case "bad-json" | "unknown-tool" | "retry":
            return 1, 2 * n / (2 * n + 1), n / (n + 1), 1, 0, 1
        case "loop":
            return 1 / n, 2 / (MAX_STEPS + n), 1, None, MAX_STEPS - 1, 0
        case "giveup":
            return 1 / n, 2 / (1 + n), 1, None, 0, 0
    raise AssertionError(policy)


def in_order(policy: str, n: int) -> float:
    """``tool_call_accuracy``: calls that are right and in order, of all that were made or are missing."""
    match policy:
        case "reordered" | "giveup":
            return 1 / n
        case "none":
            return 0
        case "partial":
            return (n - 1) / n
        case "bad-json" | "unknown-tool" | "retry":
            return n / (n + 1)
        case "loop":
            return 1 / (n + MAX_STEPS - 1)
    return 1


async def scored(played: Played) -> dict[str, float | None]:
    return {score.name: score.value for score in await score_trial(played.context)}


@pytest.mark.parametrize("policy", sorted({*POLICIES} - {"extra", "wrong-args"}))
async def test_every_score_has_its_known_value(policy: str) -> None:
    for query in QUERIES:
        found = await scored(await play(policy, query))
        wanted = [None if value is None else pytest.approx(value) for value in right(policy, len(query.gold_calls))]
        assert [found.get(name) for name in SCORES] == wanted, query.query_id
        assert found["unasked_calls"] == 0
        assert found["tool_call_accuracy"] == pytest.approx(in_order(policy, len(query.gold_calls))), query.query_id


async def test_wrong_arguments_cost_what_the_names_of_apis_do_not_show() -> None:
    for query in QUERIES:
        found = await scored(await play("wrong-args", query))
        assert (found["api_call_score"], found["api_f1"]) == (1, 1)
        assert (found["call_success"], found["recovered"]) == (0, 0)
        assert found["argument_accuracy"] == found["tool_call_f1"]
        assert (found["tool_call_f1"] or 0) < 1


async def test_a_call_too_many_costs_agreement_but_not_accuracy() -> None:
    for query in QUERIES:
        n, found = len(query.gold_calls), await scored(await play("extra", query))
        assert found["argument_accuracy"] == 1
        assert found["tool_call_f1"] == pytest.approx(2 * n / (2 * n + 1))


@pytest.mark.parametrize("policy", POLICIES)
async def test_every_gold_call_is_attributed(policy: str) -> None:
    for query in QUERIES:
        played = await play(policy, query)
        found = attribute(query, played.tools, played.result)
        sums = attribution_of([Attributed(1, None, found)])
        assert sums.gold_calls == len(query.gold_calls)
        if policy in LOST:
            assert found[0].lost == LOST[policy]
        elif policy == "partial":
            assert [call.lost for call in found][-1] == "not called"
        else:
            assert {call.lost for call in found} == {None}
