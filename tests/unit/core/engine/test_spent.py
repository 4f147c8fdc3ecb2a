"""The budget of a run: which trials it lets begin."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from trialbed.engine._spent import Admission
from trialbed.records import HelperUse, TrialKey, Usage

RUN: Any = SimpleNamespace(
    prices={},
    config=SimpleNamespace(
        models=("dear", "cheap"), cell=lambda framework: SimpleNamespace(model=framework.split("@")[1])
    ),
)
EMPTY: Any = SimpleNamespace(each_attempt=lambda _: ())
HELPERS: list[HelperUse] = []


def key(model: str, query: int) -> TrialKey:
    return TrialKey(framework=f"mine@{model}", query_id=query, repeat=0)


def used(tokens: int) -> Any:
    call = SimpleNamespace(other_model="", recorded=None, usage=Usage(prompt_tokens=tokens), cause=None)
    return SimpleNamespace(wire=SimpleNamespace(model_calls=[call], embedding_calls=()))


async def test_one_trial_begins_alone_and_after_a_refusal_none() -> None:
    admission = Admission("1000tokens", EMPTY, SimpleNamespace(**vars(RUN), run_id="r"), lambda: HELPERS)
    assert await admission.admits(key("dear", 1))
    second = asyncio.create_task(admission.admits(key("cheap", 1)))
    await asyncio.sleep(0)
    assert not second.done()
    await admission.leave(key("dear", 1), used(600))
    # The only figure there is, that of the other model, does not fit.
    assert not await second
    assert admission.refusal == (
        "the budget of this run covers no further trial: 600 tokens of 1,000 tokens are used, and one takes about "
        "600 tokens"
    )
    assert not await admission.admits(key("cheap", 2))


async def test_trials_under_way_are_counted_by_what_their_model_uses_and_helpers_by_theirs() -> None:
    helpers: list[HelperUse] = []
    admission = Admission("1000tokens", EMPTY, SimpleNamespace(**vars(RUN), run_id="r"), lambda: helpers)
    for model, tokens in (("dear", 300), ("cheap", 100)):
        assert await admission.admits(key(model, 1))
        await admission.leave(key(model, 1), used(tokens))
    assert [await admission.admits(key("cheap", number)) for number in (2, 3)] == [True, True]
    helpers.append(HelperUse(role="judge", model="j", requests=1, usage=Usage(prompt_tokens=350)))
    third = asyncio.create_task(admission.admits(key("cheap", 4)))
    await asyncio.sleep(0)
    assert not third.done()
    await admission.leave(key("cheap", 2), used(10))
    await admission.leave(key("cheap", 3), used(10))
    assert await third
