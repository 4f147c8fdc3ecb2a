"""Check that frameworks report what happened."""

from __future__ import annotations

from typing import Any

from trialbed.records import Json, Usage
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.harness import Harness, TrialRecord, breaks, claims_are_right_everywhere, errs, tool
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import converse
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_equal, expect_requests
from trialbed_scripted import ask, call, forever, say

NAMES = ("Echo_a", "Echo_b", "Echo_c")
SPENT = (Usage(prompt_tokens=10, completion_tokens=1), Usage(prompt_tokens=20, completion_tokens=2))
LAST = Usage(prompt_tokens=40, completion_tokens=4)
ALL = {"prompt_tokens": 70, "completion_tokens": 7}


@must(
    binds="all",
    reason="The difference between claims and the wire is a score of the framework, not of its adapter.",
    hint="Read the calls, with their arguments, from all of the framework's own messages or events. Failed "
    "calls may be listed elsewhere; calls of unknown tools and with broken arguments were not made.",
    quick=True,
)
async def calls_are_claimed(harness: Harness) -> None:
    """The calls that were made are claimed, each once, with tool and arguments: many, failed ones, and no others."""
    # A framework may refuse arguments that a schema does not name.
    tools = [tool(name, parameters=_schema("text", "n")) for name in NAMES]
    tools.append(tool("Echo_none", parameters={"type": "object", "properties": {}}))
    together = ask(*(call(name, {"text": f"{name} 1", "n": "1"}) for name in NAMES))
    again = ask(*[call("Echo_b", {"text": "Echo_b 2", "n": "2"})] * 2)
    record = await converse(harness, together, again, ask(call("Echo_none", "{}")), tools=tools)
    expect(len(record.calls) > 0, "calls of the tools", "none")
    if record.is_program and not record.makes_claims:
        raise NotTried("the program prints an answer without its calls")
    _expect_claims(record)
    many = [ask(*(call("Echo_b", {"text": f"call {turn} {place}"}) for place in range(turn))) for turn in (1, 1, 1, 6)]
    failing = [tool("Echo_a", errs("no parrot")), tool("Echo_b", breaks(503)), tool("Echo_c")]
    invalid = [call("Echo_nobody", {"text": "x"}), call("Echo_a", '{"text": '), call("Echo_b", "[1]")]
    _expect_claims(await harness.run(*many, "done", tools=_tools()))
    _expect_claims(await harness.run(ask(*(call(name, {"text": "x"}) for name in NAMES)), "done", tools=failing))
    _expect_claims(await harness.run(ask(*invalid, call("Echo_c", {"text": "made"})), "done", tools=_tools()))


@should(
    reason="Scores that look at order read it from the claims if the wire has calls at the same time.",
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


@must(
    binds="all",
    reason="A missing report does not mean zero.",
    hint="Return usage=None if the model reported none.",
    quick=True,
)
async def unknown_usage_is_none(harness: Harness) -> None:
    """If the model reports no tokens, an answer claims none: None, not 0."""
    record = await harness.run(ask(call("Echo_a", {"text": "x"}), usage=None), say("done", usage=None), tools=_tools())
    # A framework of its own ways may end such a run with an error: nothing is claimed then.
    usage = record.answer.usage if record.answer else None
    expect(usage is None, "usage None", None if usage is None else usage.model_dump())


@must(
    binds="all",
    reason="Tokens cost money; a wrong number is worse than no number.",
    hint="Add up the tokens of every turn, the last one too; otherwise return None.",
    quick=True,
)
async def claimed_usage_is_the_sum(harness: Harness) -> Json:
    """Claimed tokens, if any, are the sum of those that the model reported."""
    turns = [ask(call("Echo_a", {"text": "x"}), usage=usage) for usage in SPENT]
    record = await harness.run(*turns, say("done", usage=LAST), tools=_tools())
    expect_requests(record, 3, or_more=True)
    usage = expect_answer(record, "done").usage
    if usage is not None:
        expect_equal("usage", usage.model_dump(include=set(ALL)), ALL)
    return {"tokens claimed": usage is not None}


@must(
    binds="all",
    reason="A wrong number of turns hides requests that the framework made on its own.",
    hint="Count the model's messages that the framework reports, the last one too; otherwise return None.",
)
async def claimed_turns_are_right(harness: Harness) -> Json:
    """Claimed turns, if any, are the requests that were made, at the step limit too if there is an answer."""
    finished = await harness.run(call("Echo_a", {"text": "x"}), "done", tools=_tools())
    cut_off = await harness.run(forever(ask(call("Echo_a", {"text": "x"}))), tools=_tools(), max_steps=3)
    turns = expect_answer(finished).model_turns
    for record in (finished, cut_off):
        made = sum(not request.refused for request in record.requests)
        claimed = record.answer.model_turns if record.answer else None
        expect(claimed in (None, made), f"model_turns {made}, or None", claimed)
    return {"turns claimed": turns is not None}


def _expect_claims(record: TrialRecord) -> None:
    """Expect the claims of a trial to be the calls that reached the tools, unless it failed, and claims nothing."""
    breach = next(claims_are_right_everywhere(record), "")
    expect(not breach, "claims of the calls that reached the tools", breach)


def _schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}


def _tools() -> list[Any]:
    return [tool(name) for name in NAMES]
