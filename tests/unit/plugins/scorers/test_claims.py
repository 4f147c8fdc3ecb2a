from __future__ import annotations

import pytest
from support.scoring import api_call, claim, model_call, scores

from trialbed.records import ApiCall, ClaimedCall, SentCall


@pytest.mark.parametrize(
    ("claims", "called", "value", "invented", "unreported"),
    [
        ([], [], 1, "", ""),
        ([claim("a", {"x": 1, "y": 2})], [api_call("a", {"y": 2, "x": 1})], 1, "", ""),
        ([claim("a", '{"x": 1}')], [api_call("a", {"x": 1})], 1, "", ""),
        ([claim("a")], [api_call("a", {"x": 1})], 1, "", ""),
        ([claim("a", {"x": 2})], [api_call("a", {"x": 1})], 0, "a", "a"),
        ([claim("a"), claim("b")], [api_call("a")], 0.5, "b", ""),
        ([claim("a")], [api_call("a"), api_call("a")], 0.5, "", "a"),
        ([claim("a"), claim("a", {"x": 1})], [api_call("a", {"x": 1}), api_call("a", {"x": 2})], 1, "", ""),
        ([claim(None), claim("a", "{bad"), claim("a")], [api_call("a")], 1, "", ""),
    ],
)
async def test_claims_are_matched_one_to_one(
    claims: list[ClaimedCall], called: list[ApiCall], value: float, invented: str, unreported: str
) -> None:
    found = (await scores("", called, calls=tuple(claims)))["claimed_vs_observed"]
    assert found.value == pytest.approx(value)
    assert found.detail["invented"] == [["t", name] for name in invented]
    assert found.detail["unreported"] == [["t", name] for name in unreported]


async def test_the_detail_has_the_calls_that_the_model_sent_and_that_can_be_made() -> None:
    sent = [
        SentCall(name="t_b", arguments="{}"),
        SentCall(name="t_a", arguments="{", problem="invalid json"),
        SentCall(name="x", arguments="{}", problem="unknown tool"),
    ]
    found = (await scores(asked=[model_call(sent=sent), model_call(sent=sent[:1])]))["claimed_vs_observed"]
    assert found.detail["sent"] == [["t", "b"], ["t", "b"]]
