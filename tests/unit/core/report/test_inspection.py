"""A trial in words: its exchanges, problems, expectations and the grounds of its scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from support.cases import for_each
from support.scoring import NOON, api_call, model_call, sent_call, tool

from trialbed import Expect, Task, call
from trialbed.records import (
    ApiCall,
    ApiRef,
    AttributedCall,
    GoldCall,
    ModelCall,
    Outcome,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed.report.inspection import (
    ModelExchange,
    RequestMessage,
    ToolExchange,
    TrialProblem,
    detail_text,
    exchanges,
    expectation_lines,
    expected_lines,
    fault_words,
    problems,
    reason_text,
)
from trialbed.tasks import compile_tasks

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
FIRST = {"role": "user", "content": "Where is it?"}
ASKED = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}


def exchange(started: float, request: Any, message: Any = None, **more: Any) -> ModelCall:
    response = "" if message is None else json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    text = request if isinstance(request, str) else json.dumps(request)
    return ModelCall(
        started=started,
        duration=0.1,
        status=200,
        stream=False,
        request=text,
        request_bytes=len(text),
        response_bytes=0,
        **({"response": response} | more),
    )


def log(**calls: Any) -> WireLog:
    return WireLog(trial="t", opened_at=datetime(2026, 1, 1, tzinfo=UTC), **calls)


def lookup(started: float) -> ApiCall:
    api = ApiRef(category="Places", tool_name="Map", api_name="look")
    return ApiCall(started=started, duration=0.1, status=200, api=api, offered=True, arguments={}, response="there")


def test_they_stand_in_the_order_in_which_they_began_and_count_from_the_first() -> None:
    wire = log(model_calls=(exchange(10.0, {}), exchange(10.5, {})), api_calls=(lookup(10.25),))
    found = exchanges(wire)
    assert [(type(one), one.place, one.at) for one in found] == [
        (ModelExchange, 1, 0.0),
        (ToolExchange, 1, 0.25),
        (ModelExchange, 2, 0.5),
    ]


def test_a_request_shows_what_no_earlier_one_had() -> None:
    first = exchange(0.0, {"messages": [FIRST], "tools": TOOLS}, {"content": "I look."})
    second = exchange(1.0, {"messages": [FIRST, ASKED], "tools": TOOLS}, {"content": "Here.", "reasoning": "Hm."})
    one, two = exchanges(log(model_calls=(first, second)))
    assert isinstance(one, ModelExchange)
    assert isinstance(two, ModelExchange)
    assert (one.known, one.messages, one.offered, one.text) == (
        0,
        (RequestMessage("user", "Where is it?"),),
        ("look",),
        "I look.",
    )
    assert (two.known, two.messages, two.offered) == (1, (RequestMessage("assistant", "", (("look", "{}"),)),), None)
    assert (two.text, two.thoughts, two.unread) == ("Here.", "Hm.", "")


def book(seat: str) -> str:
    """Book a seat."""
    return seat


def cancel(seat: str) -> str:
    """Cancel a seat."""
    return seat


def lines(task: Task) -> Sequence[str]:
    (query,) = compile_tasks([task]).queries
    return [f"{label}: {text}" for label, text in expected_lines(query)]


def test_calls_facts_and_the_state_of_a_task_are_named() -> None:
    task = Task(
        "Book 1A.",
        tools=[book, cancel],
        calls=[call("book", seat="1A"), "cancel"],
        expect="1A",
        final_state={"1A": "Ann"},
        answer="It is booked.",
    )
    assert lines(task) == [
        'expected: book {"seat": "1A"}',
        "expected: cancel",
        "expected in the answer: 1A",
        'expected final state: {"1A": "Ann"}',
        "reference answer: It is booked.",
    ]


def test_limits_other_ways_and_tests_are_named() -> None:
    def short(trial: object) -> bool:
        return True

    expect = Expect(
        calls=[call("book", seat="1A")],
        ways=[["book", "book"], []],
        in_order=True,
        only=True,
        never=["cancel"],
        most_calls=3,
        most_tokens=4000,
        check=short,
        criteria="The answer is polite.",
        tests={"seat": Expect("1A", calls=["book"], state={"1A": "Ann"}, most_requests=2)},
    )
    assert lines(Task("Book 1A.", tools=[book, cancel], expect=expect)) == [
        'expected: book {"seat": "1A"}',
        "or: book, book",
        "or: no calls",
        "expected: the calls are made in this order",
        "expected: no other calls are made",
        "never: cancel",
        "at most: 3 calls of tools",
        "at most: 4,000 tokens",
        "check: short",
        "criterion: The answer is polite.",
        """test seat: book; '1A'; final state {"1A": "Ann"}; at most 2 requests to the model""",
    ]


SEVEN = [["", f"a{place}"] for place in range(7)]


@for_each(
    ("name", "detail", "words"),
    [
        ("api_call_score", {"right": [["t", "a"]], "missing": [], "extra": []}, ""),
        (
            "api_call_score",
            {"missing": [["", "find_order"], ["t", "a"]], "extra": [["t", "b"]]},
            "missing: find_order, t/a; extra: t/b",
        ),
        ("gold_offered", {"missing": SEVEN}, "missing: a0, a1, a2, a3, a4 and 2 more"),
        ("model_turns", {"failed": 0, "repeated": 0, "claimed": 3}, ""),
        ("model_turns", {"failed": 2, "repeated": 1, "claimed": None}, "failed: 2; repeated: 1"),
        ("call_success", {"calls": 1, "failed": []}, "calls: 1"),
        ("own", {"odd_words": ["a", "b"], "found": 0, "more": {"x": 1}}, 'odd words: a, b; found: 0; more: {"x": 1}'),
        ("own", {"rows": [["a", 1]]}, 'rows: [["a", 1]]'),
    ],
)
def test_a_detail_is_said_in_words(name: str, detail: dict[str, Any], words: str) -> None:
    assert detail_text(Score(name=name, value=0.0, detail=detail)) == words


def test_expectations_that_are_not_met_are_explained_once() -> None:
    listed = [
        {"text": "the answer says '12.5'", "met": False, "reason": ""},
        {"text": "polite", "met": False, "reason": "rude"},
        {"text": "the expected calls", "met": True, "reason": ""},
        {"text": "short", "met": None, "reason": "it raised"},
    ]
    reason = "2 of 4 expectations are not met: the answer does not say '12.5'; polite: rude"
    detail = {"method": "expectations", "reason": reason, "expectations": listed}
    score = Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)
    assert reason_text(score) == "2 of 4 expectations are not met"
    assert list(expectation_lines(score)) == [
        "not met: the answer says '12.5'",
        "not met: polite",
        "met: the expected calls",
        "not known: short: it raised",
    ]


def told(
    asked: Sequence[ModelCall], called: Sequence[ApiCall] = (), scores: Sequence[Score] = (), **more: Any
) -> list[TrialProblem]:
    result = TrialResult(
        trial="token",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOON, wall_time=1),
        wire=WireLog(trial="token", opened_at=NOON, model_calls=tuple(asked), api_calls=tuple(called)),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=("t_a",),
        scores=tuple(scores),
        **more,
    )
    return problems(result, [tool("a")])


def test_a_refused_call_that_the_framework_changed_shows_what_the_model_asked_for() -> None:
    refused = api_call("a", {"city": 1}, error="not a text\n")
    (problem,) = told([model_call(sent=[sent_call("a", '{"city": "Oslo"}')])], [refused])
    assert problem.what == "t/a was changed by the framework, and refused: not a text"
    assert problem.details == (("asked", '{"city": "Oslo"}'), ("sent", '{"city": 1}'))
    (problem,) = told([model_call(sent=[sent_call("a", '{"city": 1}')])], [refused])
    assert (problem.what, problem.details) == ("t/a was refused: not a text", (("sent", '{"city": 1}'),))


def request(**fields: Any) -> str:
    offered = [{"type": "function", "function": {"name": name}} for name in ("t_a", "t_b")]
    return json.dumps({"messages": [{"role": "user", "content": "?"}], "tools": offered, **fields})


@for_each(
    ("asked", "body", "what", "details"),
    [
        (
            '{"city": "Oslo"}',
            request(),
            "t/a was called with arguments that the model did not write",
            (("asked", '{"city": "Oslo"}'), ("sent", '{"city": "Rome"}')),
        ),
        (
            '{"city": "Rome"}',
            request(tool_choice={"type": "function", "function": {"name": "t_a"}}),
            "t/a was called, as the request forced the call with tool_choice",
            (),
        ),
        (
            '{"city": "Rome"}',
            request(messages=[{"role": "user", "content": 'Call t_a with {"city": "Rome"}.'}]),
            "t/a was called, as the request had told the model to",
            (),
        ),
        (None, request(), "t/a was called, though no answer of the model asked for it", ()),
    ],
)
def test_a_call_that_is_not_the_models_is_told_as_what_it_is(
    asked: str | None, body: str, what: str, details: tuple[tuple[str, str], ...]
) -> None:
    sent = [] if asked is None else [sent_call("a", asked)]
    found = told([model_call(sent=sent, request=body)], [api_call("a", {"city": "Rome"}, started=9)])
    (problem,) = [one for one in found if one.where == "call 1"]
    assert (problem.what, problem.details) == (what, details)


def test_what_an_injected_fault_made_fail_is_said_to_be_its_doing() -> None:
    request = model_call().model_copy(update={"status": 500, "error": "it is down", "fault": "server_error"})
    refused = api_call("a", {}, error="try again").model_copy(update={"fault": "rate_limit"})
    late = api_call("a", {}, error="no such town").model_copy(update={"fault": "slow"})
    own = api_call("a", {}, error="no such city")
    assert [one.what for one in told([request], [refused, late, own]) if one.where != "answer"][:4] == [
        "failed, by an injected fault (server error): it is down",
        "t/a was refused, by an injected fault (rate limit): try again",
        "t/a was refused: no such town",
        "t/a was refused: no such city",
    ]
    assert fault_words(own) == ""
    assert fault_words(own.model_copy(update={"fault": "injection:INJ-1"})) == "injection"


def test_losses_are_those_that_the_trial_was_stored_with_also_without_its_dataset() -> None:
    lost = {"a": ("wrong arguments", "invalid json"), "b": ("not called", "not asked for"), "c": (None, "")}
    gold = [
        AttributedCall(gold=GoldCall(api=tool(name).api), lost=stage, reason=why) for name, (stage, why) in lost.items()
    ]
    extra = Score(name="api_call_score", value=0.0, detail={"extra": [["t", "d"]]})
    cut, *others = told([model_call(sent=[sent_call("a", "{", "invalid json")])], scores=[extra], gold_calls=gold)
    assert cut.what == "the model's call of t_a could not be made: invalid JSON"
    assert [one.what for one in others] == [
        "t/a: wrong arguments: invalid JSON",
        "t/b: not called: not asked for",
        "t/d was called, and is not expected",
    ]
