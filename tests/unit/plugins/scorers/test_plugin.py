from __future__ import annotations

from support.scoring import api_call, context, gold_call, model_call, scores

from trialbed.plugins import plugin_manager
from trialbed.prices import read_prices
from trialbed.records import Usage
from trialbed_plugins.scorers import CATALOG

TURNS = [model_call(Usage(prompt_tokens=1), request='{"messages": []}', started=turn) for turn in range(10)]


async def test_the_plugin_is_found_by_its_entry_point_and_gives_every_score() -> None:
    """But for those that only some trials have."""
    given = [score for found in plugin_manager().hook.score_trial(context=context()) for score in await found]
    assert [score.name for score in given] == [
        "sopr_score",
        "api_call_score",
        "api_precision",
        "api_f1",
        "call_success",
        "redundant_calls",
        "unasked_calls",
        "has_finish",
        "claimed_vs_observed",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "model_turns",
        "wall_time",
        "model_time",
        "tool_time",
        "framework_time",
    ]


async def test_every_score_is_declared() -> None:
    calls = [
        api_call("a", {"x": 1}, error="bad", fault="injection:INJ-1"),
        api_call("a", {"x": 2}, response={"city": "Pelluin"}, started=9),
    ]
    found = await scores([gold_call("a", x=2)], calls, TURNS, states=(1, 1), prices=read_prices("1,2"), turns=10)
    assert set(found) == {score.name for score in CATALOG}


async def test_the_catalog_says_how_failures_count() -> None:
    """As the scores themselves say it."""
    calls = [
        api_call("a", {"x": 1}, error="bad", fault="injection:INJ-1"),
        api_call("a", {"x": 2}, response={"city": "Pelluin"}, started=9),
    ]
    found = await scores([gold_call("a", x=2)], calls, TURNS, states=(1, 1), turns=10)
    described = {score.name: score for score in CATALOG}
    assert {name for name, score in found.items() if score.bounded} == {
        name for name, score in described.items() if score.bounded
    }
    bounded = [name for name in found if described[name].bounded]
    assert [described[name].quality for name in bounded] == [found[name].quality for name in bounded]
