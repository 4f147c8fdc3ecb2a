"""Claims: the framework reports what happened."""

from __future__ import annotations

from typing import Any

from trialbed.records import Answer, Usage
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.harness import Harness, TrialRecord, breaks, errs, returns, tool
from trialbed_adapter_lab.probe import expect, may, must, should
from trialbed_adapter_lab.probes._conversations import converse
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_equal, expect_requests_at_least, in_order
from trialbed_scripted import ask, call, forever, say

NAMES = ("Echo_a", "Echo_b", "Echo_c")
SPENT = (Usage(prompt_tokens=10, completion_tokens=1), Usage(prompt_tokens=20, completion_tokens=2))
LAST = Usage(prompt_tokens=40, completion_tokens=4)
ALL = {"prompt_tokens": 70, "completion_tokens": 7}


@must(
    binds="all",
    reason="The difference between claims and the wire is a score of the framework, not of its adapter.",
    hint="Read the calls from the framework's own messages or events: name, Api and arguments of each.",
    quick=True,
)
async def calls_are_claimed(harness: Harness) -> None:
    """Calls in one turn and in several are claimed, each once, with Api and arguments."""
    # A framework may refuse arguments that a schema does not name.
    tools = [tool(name, parameters=_schema("text", "n")) for name in NAMES]
    together = ask(*(call(name, {"text": f"{name} 1", "n": "1"}) for name in NAMES))
    again = ask(*[call("Echo_b", {"text": "Echo_b 2", "n": "2"})] * 2)
    none = ask(call("Echo_none", "{}"))
    tools.append(tool("Echo_none", parameters={"type": "object", "properties": {}}))
    record = await converse(harness, together, again, none, tools=tools)
    expect(len(record.calls) > 0, "calls of the tools", "none")
    _expect_claims(record)


@must(
    binds="all",
    reason="A claim that stops at some number hides what the framework does not know of itself.",
    hint="Read all messages of the run, not the last ones.",
)
async def many_calls_are_claimed(harness: Harness) -> None:
    """Twelve calls, six of them in one turn, are all claimed."""
    turns = [ask(call("Echo_a", {"text": f"turn {number}"})) for number in range(6)]
    together = ask(*(call("Echo_b", {"text": f"call {number}"}) for number in range(6)))
    record = await harness.run(*turns, together, "done", tools=_tools())
    _expect_claims_if_answered(record)


@should(
    reason="Scores that look at order read it from the claims where the wire has calls at the same time.",
    hint="List the calls in the order in which the model asked for them.",
)
async def claims_are_in_order(harness: Harness) -> None:
    """Calls are claimed in the order in which the model asked for them."""
    together = ask(*(call(name, {"text": "1"}) for name in reversed(NAMES)))
    record = await harness.run(together, call("Echo_b", {"text": "2"}), "done", tools=_tools())
    answer = expect_answer(record, "done")
    named = [claim.api.tool_name if claim.api else claim.name for claim in answer.calls]
    asked = [*reversed(NAMES), "Echo_b"]
    if sorted(named) == sorted(asked):  # Calls that are not claimed are the business of other checks.
        expect_equal("tools of the claimed calls", named, asked)


@should(
    reason="Results and answers are read together; a claim without its response is incomplete.",
    hint="Put the text of the tool message into ClaimedCall.response.",
)
async def responses_are_claimed(harness: Harness) -> None:
    """Each claimed call has the response that came back."""
    words = {name: f"\n response of {name}: " + "It is long. " * 500 for name in NAMES}
    tools = [tool(name, returns(text)) for name, text in words.items()]
    record = await harness.run(ask(*(call(name, {"text": "x"}) for name in NAMES)), "done", tools=tools)
    answer = expect_answer(record, "done")
    seen = {claim.api.tool_name if claim.api else claim.name: claim.response for claim in answer.calls}
    expect_equal("responses of the claimed calls", seen, words)


@must(
    binds="all",
    reason="A call was made even if its Api failed.",
    hint="Claim it like any other; frameworks may list failed calls elsewhere.",
)
async def failed_calls_are_claimed(harness: Harness) -> None:
    """Calls that the Api answered with an error, or not at all, are claimed."""
    tools = [tool("Echo_a", errs("no parrot")), tool("Echo_b", breaks(503)), tool("Echo_c")]
    record = await harness.run(ask(*(call(name, {"text": "x"}) for name in NAMES)), "done", tools=tools)
    _expect_claims_if_answered(record)


@must(
    binds="all",
    reason="A call that never left the framework was not made.",
    hint="Leave out calls of unknown tools and with broken arguments: they reached no Api.",
)
async def calls_not_made_are_not_claimed(harness: Harness) -> None:
    """Calls of an unknown tool, or with arguments that are not a JSON object, are not claimed unless they were made."""
    turn = ask(
        call("Echo_nobody", {"text": "x"}),
        call("Echo_a", '{"text": '),
        call("Echo_b", "[1]"),
        call("Echo_c", {"text": "made"}),
    )
    record = await harness.run(turn, "done", tools=_tools())
    _expect_claims_if_answered(record)


@must(
    reason="Calls of a trial that was cut off were made too.",
    hint="Keep the report of the framework where it ends by its limit; some lose it with an exception.",
)
async def calls_are_claimed_at_the_step_limit(harness: Harness) -> None:
    """At the step limit the calls that were made are claimed."""
    record = await harness.run(forever(ask(call("Echo_a", {"text": "more"}))), tools=_tools(), max_steps=3)
    expect_answer(record)
    expect(len(record.calls) >= 2, "at least 2 calls in 3 turns", f"{len(record.calls)}")
    _expect_claims(record)


@must(
    binds="all",
    reason="Tokens cost money; a wrong number is worse than no number.",
    hint="Add up the tokens of every turn, the last one too; otherwise return None.",
    quick=True,
)
async def claimed_usage_is_the_sum(harness: Harness) -> None:
    """Claimed tokens, if any, are the sum of those that the model reported."""
    usage = (await _run_spending(harness)).usage
    if usage is not None:
        expect_equal("usage", usage.model_dump(include=set(ALL)), ALL)


@must(
    binds="all",
    reason="A missing report does not mean zero.",
    hint="Return usage=None where the model reported none.",
    quick=True,
)
async def unknown_usage_is_none(harness: Harness) -> None:
    """If the model reports no tokens, an answer claims none: None, not 0."""
    record = await harness.run(ask(call("Echo_a", {"text": "x"}), usage=None), say("done", usage=None), tools=_tools())
    # A framework of its own ways may end such a run with an error: nothing is claimed then.
    usage = record.answer.usage if record.answer else None
    expect(usage is None, "usage None", None if usage is None else usage.model_dump())


@may(
    reason="A framework's own token count can be checked.",
    hint="Nothing needs to be done if the framework does not count.",
)
async def usage_is_claimed(harness: Harness) -> None:
    """Tokens are claimed."""
    expect((await _run_spending(harness)).usage is not None, "the framework's own count of tokens", "None")


@must(
    binds="all",
    reason="A wrong number of turns hides requests that the framework made on its own.",
    hint="Count the model's messages that the framework reports, the last one too; otherwise return None.",
)
async def claimed_turns_are_right(harness: Harness) -> None:
    """Claimed turns, if any, are the requests that were made, at the step limit too if there is an answer."""
    finished = await harness.run(call("Echo_a", {"text": "x"}), "done", tools=_tools())
    cut_off = await harness.run(forever(ask(call("Echo_a", {"text": "x"}))), tools=_tools(), max_steps=3)
    expect_answer(finished)
    for record in (finished, cut_off):
        made = sum(not request.refused for request in record.requests)
        turns = record.answer.model_turns if record.answer else None
        expect(turns in (None, made), f"model_turns {made}, or None", turns)


@may(
    reason="A framework's own count of turns can be checked.",
    hint="Nothing needs to be done if the framework does not count.",
)
async def turns_are_claimed(harness: Harness) -> None:
    """Turns are claimed."""
    answer = expect_answer(await harness.run("done"), "done")
    expect(answer.model_turns is not None, "the framework's own count of turns", "None")


async def _run_spending(harness: Harness) -> Answer:
    """Run a trial of three turns, each with another number of tokens, and return its answer."""
    turns = [ask(call("Echo_a", {"text": "x"}), usage=usage) for usage in SPENT]
    record = await harness.run(*turns, say("done", usage=LAST), tools=_tools())
    expect_requests_at_least(record, 3)
    return expect_answer(record, "done")


def _expect_claims_if_answered(record: TrialRecord) -> None:
    """Expect the claims of a trial to be the calls that reached the Apis, unless it failed, and claims nothing."""
    if record.makes_claims:
        _expect_claims(record)


def _expect_claims(record: TrialRecord) -> None:
    """Expect the claims of a trial to be the calls that reached the Apis."""
    if record.is_program and not record.makes_claims:
        raise NotTried("the program prints an answer without its calls")
    made = in_order([call.tool, call.arguments] for call in record.calls)
    expect_equal(
        "claimed calls, compared with those that reached the Apis", in_order(_claims(expect_answer(record))), made
    )


def _claims(answer: Answer) -> list[list[Any]]:
    return [[claim.api.tool_name if claim.api else claim.name, claim.arguments] for claim in answer.calls]


def _schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}


def _tools() -> list[Any]:
    return [tool(name) for name in NAMES]
