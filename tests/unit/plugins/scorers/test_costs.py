from __future__ import annotations

import pytest
from support.scoring import model_call, scores

from trialbed.prices import read_prices
from trialbed.records import ModelCall, Usage


async def test_tokens_are_the_models_and_claims_stand_beside() -> None:
    asked = [model_call(Usage(prompt_tokens=10, completion_tokens=1)), model_call(Usage(prompt_tokens=20))]
    found = await scores(asked=asked, usage=Usage(prompt_tokens=5, completion_tokens=5))
    assert [found[f"{part}_tokens"].value for part in ("prompt", "completion", "total")] == [30, 1, 31]
    assert found["total_tokens"].detail == {"claimed": 10}
    assert not found["total_tokens"].bounded


@pytest.mark.parametrize("asked", [[], [model_call(Usage(prompt_tokens=1)), model_call()], [model_call(status=0)]])
async def test_tokens_that_were_not_reported_are_not_guessed(asked: list[ModelCall]) -> None:
    found = await scores(asked=asked, usage=Usage(prompt_tokens=5))
    assert found["total_tokens"].value is None
    assert found["total_tokens"].failure is not None


async def test_tokens_of_a_request_that_the_agent_broke_off_are_estimated() -> None:
    whole, broken = model_call(Usage(prompt_tokens=10, completion_tokens=1)), model_call(status=0, cause="gone")
    broken = broken.model_copy(update={"request_bytes": 400, "response_bytes": 40})
    found = await scores(asked=[whole, broken, model_call(status=0, cause="endpoint")])
    assert [found[f"{part}_tokens"].value for part in ("prompt", "completion", "total")] == [110, 11, 121]
    assert found["total_tokens"].detail == {"claimed": None, "estimated": 1}


async def test_an_agent_that_asks_no_model_is_said_to_ask_none() -> None:
    found = await scores(asked=[], prices=read_prices("1,1"))
    failures = [found[name].failure for name in ("prompt_tokens", "completion_tokens", "total_tokens", "cost")]
    assert {failure and failure.message for failure in failures} == {"no model was asked through Trialbed"}


async def test_a_refused_call_costs_no_tokens_and_is_no_turn() -> None:
    asked = [model_call(status=429, request="x"), model_call(Usage(prompt_tokens=3), request="x")]
    found = await scores(asked=asked, model_turns=2)
    assert found["total_tokens"].value == 3
    assert found["model_turns"].value == 1
    assert found["model_turns"].detail == {"failed": 1, "repeated": 1, "claimed": 2}


async def test_times_are_seconds() -> None:
    found = await scores()
    assert {name: found[f"{name}_time"].value for name in ("wall", "model", "tool", "framework")} == {
        "wall": 4,
        "model": 2,
        "tool": 1.5,
        "framework": 0.5,
    }
    assert not found["wall_time"].bounded


@pytest.mark.parametrize(
    ("request_", "stream", "kind"),
    [
        ("{}", True, "agent"),
        ('{"stream_options": {"include_usage": false}}', True, "agent"),
        ('{"stream_options": {"include_usage": true}}', True, "model"),
        ("{}", False, "model"),
    ],
)
async def test_tokens_that_the_agent_did_not_ask_for_are_its_own_doing(request_: str, stream: bool, kind: str) -> None:
    found = await scores(asked=[model_call(Usage()), model_call(request=request_, stream=stream)])
    failure = found["total_tokens"].failure
    assert failure is not None
    assert failure.kind == kind
    assert ("streamed request 2" in failure.message) == (kind == "agent")


async def test_a_cost_is_that_of_all_requests_and_absent_without_prices() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=400)
    asked = [model_call(usage), model_call(usage), model_call(status=429)]
    assert (await scores(asked=asked, prices=read_prices("2.5,10,1.25")))["cost"].value == pytest.approx(0.006)
    assert "cost" not in await scores(asked=asked)


@pytest.mark.parametrize("asked", [model_call(), model_call(Usage(prompt_tokens=1), other_model="gpt-dear")])
async def test_a_cost_is_not_guessed(asked: ModelCall) -> None:
    cost = (await scores(asked=[model_call(Usage(prompt_tokens=1)), asked], prices=read_prices("1,1")))["cost"]
    assert cost.value is None
    assert cost.failure is not None
