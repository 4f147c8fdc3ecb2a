from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from trialbed.contracts import Verdict
from trialbed.records import Answer, ApiCall, ApiRef, GoldCall, Query, WireLog
from trialbed_evaluation.judges.rule import RuleJudge

NOON = datetime(2026, 1, 2, tzinfo=UTC)


def ref(name: str) -> ApiRef:
    return ApiRef(category="C", tool_name="t", api_name=name)


def call(name: str, response: Any, arguments: Any = None, error: str = "") -> ApiCall:
    return ApiCall(
        started=0, duration=0, api=ref(name), offered=True, arguments=arguments or {}, error=error, response=response
    )


async def verdict(
    text: str,
    calls: Sequence[ApiCall] = (),
    gold: str = "ab",
    facts: Sequence[str] = (),
    query: str = "?",
    finish: Any = "give_answer",
) -> Verdict:
    task = Query(
        query_id=1,
        text=query,
        apis=(),
        gold_calls=tuple(GoldCall(api=ref(name)) for name in gold),
        reference_facts=tuple(facts),
    )
    wire = WireLog(trial="t", opened_at=NOON, api_calls=tuple(calls))
    return await RuleJudge().judge(task, Answer(final_answer=text, finish=finish), wire)


BOTH = [call("a", {"city": "Paris"}), call("b", {"price": 1234})]


@pytest.mark.parametrize(
    ("text", "status", "value"),
    [("It is Paris and 1234.", "Solved", 1.0), ("PARIS", "Unsure", 0.5), ("It is Rome, 12345.", "Unsolved", 0.0)],
)
async def test_the_answer_must_carry_the_evidence_of_every_gold_response(text: str, status: str, value: float) -> None:
    found = await verdict(text, BOTH)
    assert (found.status, found.value, found.votes) == (status, value, (status,))


async def test_the_reason_says_that_evidence_stands_in_a_copy_alone() -> None:
    found = await verdict('Here is what I found: {"price": 1234}', [call("b", {"price": 1234})], gold="b")
    assert found.status == "Unsolved"
    assert "the response of t_b (it stands only in a raw copy of a response, and copies do not count)" in found.reason
    found = await verdict('Paris, and {"price": 1234}', BOTH)
    assert (found.status, found.reason.count("raw copy")) == ("Unsure", 1)


async def test_the_reason_names_what_is_missing() -> None:
    found = await verdict("Paris", [BOTH[0]])
    assert found.reason == "the answer lacks 1 of 2 required units: t_b (never called)"
    found = await verdict("Paris", [BOTH[0], call("b", "", error="bad")])
    assert "t_b (every call failed)" in found.reason
    assert "the response of t_b" in (await verdict("Paris", BOTH)).reason


async def test_reference_facts_go_before_responses() -> None:
    facts = ["Paris", "3 May"]
    assert (await verdict("Paris on 3 May", facts=facts)).status == "Solved"
    found = await verdict("Paris 1234", BOTH, facts=facts)
    assert found.status == "Unsure"
    assert "the fact '3 May'" in found.reason


async def test_what_the_query_or_the_arguments_said_is_no_evidence() -> None:
    echo = {"city": "Paris", "day": "Monday", "weather": "sunny"}
    calls = [call("a", echo, {"day": "Monday"})]
    assert (await verdict("Paris, Monday", calls, "a", query="Weather in Paris?")).status == "Unsolved"
    assert (await verdict("It will be sunny", calls, "a", query="Weather in Paris?")).status == "Solved"


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("Paris 1234", None, "did not finish"),
        ("Paris 1234", "give_up_and_restart", "gave up"),
        (" ", "give_answer", "empty"),
    ],
)
async def test_without_an_answer_nothing_is_solved(text: str, finish: str | None, reason: str) -> None:
    found = await verdict(text, BOTH, finish=finish)
    assert found.status == "Unsolved"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("It is 111.4km away.", "111.4"),
        ("It is 29.1C.", "29.1"),
        ("It costs 14.70.", "14.7"),
        ("It was built in 1,984.", "1984"),
        ("It leaves at 8:05 am.", "08:05"),
        ("You want **Mirel** Tidemark.", "Mirel Tidemark"),
    ],
)
async def test_a_right_answer_in_another_spelling_is_solved(text: str, fact: str) -> None:
    assert (await verdict(text, facts=[fact])).status == "Solved"


async def test_a_denied_fact_is_not_said() -> None:
    assert (await verdict("The museum is not open.", facts=["open"])).status == "Unsolved"
    denial = "It is certainly NOT true that: Paris, 1234. I could not find it"
    assert (await verdict(denial, BOTH)).status == "Unsolved"


@pytest.mark.parametrize("wrapped", ["{}", "```json\n{}\n```", "\n{}\n"])
async def test_a_raw_copy_of_a_response_is_no_answer(wrapped: str) -> None:
    copies = '{"city": "Paris"} {"price": 1234}'
    found = await verdict(wrapped.replace("{}", copies), BOTH)
    assert found.status == "Unsolved"
    assert (await verdict(f"It is Paris. {copies}", BOTH)).status == "Unsure"
    assert (await verdict(copies, BOTH, query="Give me the JSON")).status == "Solved"


async def test_an_answer_that_rests_on_failed_calls_alone_is_unsolved() -> None:
    failed = call("a", "", error="bad")
    assert (await verdict("Paris", [failed], facts=["Paris"])).reason == "the only call failed"
    assert (await verdict("Paris", [failed, failed], facts=["Paris"])).status == "Unsolved"
    assert (await verdict("Paris", [failed, BOTH[1]], facts=["Paris"])).status == "Solved"
