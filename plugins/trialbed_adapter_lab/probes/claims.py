"""Check what a framework reports, and what it remembers of earlier turns."""

from __future__ import annotations

import inspect
from typing import Any

from trialbed.contracts import BaseAgent
from trialbed.history import TurnHistory
from trialbed.records import Json, Usage
from trialbed_adapter_lab.harness import (
    Harness,
    ObservedRequest,
    TrialRecord,
    breaks,
    claims_are_right_everywhere,
    errs,
    tool,
)
from trialbed_adapter_lab.probe import NotTried, Theme, expect
from trialbed_adapter_lab.trials import (
    asks_echo,
    converse,
    expect_answer,
    expect_equal,
    expect_requests,
    refuse,
    run_without_waits,
)
from trialbed_scripted import ModelTurn, Response, ask, call, forever, say

CLAIMS = Theme("claims", "Check that frameworks report what happened.")

NAMES = ("Echo_a", "Echo_b", "Echo_c")
SPENT = (Usage(prompt_tokens=10, completion_tokens=1), Usage(prompt_tokens=20, completion_tokens=2))
LAST = Usage(prompt_tokens=40, completion_tokens=4)
ALL = {"prompt_tokens": 70, "completion_tokens": 7}


@CLAIMS.must(
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


@CLAIMS.should(
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


@CLAIMS.must(
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


@CLAIMS.must(
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


@CLAIMS.must(
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


HISTORY = Theme("history", "Check that messages and results of earlier turns stay in the requests.")

THINGS = ("order", "price", "date", "street", "town", "phone", "colour", "size", "weight", "code")
USER = tuple(f"The {thing} is {number}." for number, thing in enumerate(THINGS, 31))
"""The user's messages, which must not contain one another."""

NOTED = "I have noted number {}."

MOST = 50
"""Requests of a trial, retries included."""

FAILED = "The question could not be answered."
"""The answer of an agent that raised an exception."""


async def _converse(harness: Harness, turns: int, *, fails: bool = False) -> TrialRecord:
    """Run a conversation, with a call in the second turn.

    Args:
        fails: whether the model fails once that call was made, until the next turn.

    Raises:
        NotTried: the adapter can only be asked once.
    """
    if not harness.agent_class.converses:
        raise NotTried("the adapter can only be asked once")

    def reply(request: ObservedRequest) -> ModelTurn | Response:
        said = request.received.body
        turn = max((number for number, text in enumerate(USER, 1) if text.encode() in said), default=0)
        if turn == 2 and (not trial.calls or fails):
            return refuse(500)(request) if trial.calls else asks_echo("parrot")
        return say(NOTED.format(turn))

    messages = USER[1:turns]
    trial = harness.prepare(*[reply] * MOST, query=USER[0], messages=messages, max_steps=MOST)
    record = await (run_without_waits(harness, trial) if fails else trial.run())
    expect_answer(record, NOTED.format(turns))
    return record


def _expect(history: tuple[TurnHistory, ...], wrong: str, expected: str) -> None:
    """Fail with the first turn that is not as expected.

    Args:
        wrong: an attribute of a turn that has to be 0 or False.
    """
    found = next((turn for turn in history if getattr(turn, wrong)), None)
    expect(found is None, expected, found and found.text)


@HISTORY.should(
    reason="A model knows of the conversation only what it is sent.",
    hint="Keep one session, thread or list of messages for all answers of an instance.",
)
async def three_turns_are_kept(harness: Harness) -> None:
    """The third turn's request has everything that was said in the two before, also the tool's result."""
    _expect((await _converse(harness, 3)).history, "dropped", "every message of the turns before")


@HISTORY.should(
    reason="A window or a summary that sets in later is seen in longer conversations only.",
    hint="Look for a limit of turns, messages or characters that the framework has by default.",
)
async def ten_turns_are_kept(harness: Harness) -> None:
    """The tenth turn's request has everything that was said in the nine before."""
    _expect((await _converse(harness, 10)).history, "dropped", "every message of the turns before")


@HISTORY.should(
    reason="A fact that only a tool said is needed in later turns, too.",
    hint="Keep the messages with calls and results, and not only the texts of user and assistant.",
)
async def results_are_remembered(harness: Harness) -> None:
    """The result of a call is in the request of the next turn."""
    _expect((await _converse(harness, 3)).history, "results_lost", "the tool's result in the next turn")


@HISTORY.should(
    reason="Rules that are sent twice, or in the first turn only, are other rules.",
    hint="Send the system prompt with each request, and do not store it in the history.",
)
async def prompt_in_every_turn(harness: Harness) -> None:
    """Each turn has the system prompt once, and as it was in the first turn."""
    history = (await _converse(harness, 3)).history
    found = next((turn for turn in history if turn.prompt != "kept"), None)
    expect(found is None, "the system prompt of turn 1, once", found and found.text)


@HISTORY.should(
    reason="A model reads a correction before its mistake as nonsense.",
    hint="Append to the history, and send it from the beginning.",
)
async def turns_keep_their_order(harness: Harness) -> None:
    """Messages of earlier turns are sent in the order in which they were said."""
    _expect((await _converse(harness, 3)).history, "reordered", "messages in their order")


@HISTORY.should(
    reason="Requests for a memory or a summary cost tokens and time that no one asked for.",
    hint="Switch the memory off, or declare it.",
)
async def no_requests_beside_the_turns(harness: Harness) -> None:
    """A turn asks the model for its answer and its calls, and for nothing else."""
    record = await _converse(harness, 3)
    _expect(record.history, "extra", "no request with another system prompt or without tools")
    asked = [turn.requests for turn in record.history]
    expect(asked == [1, 2, 1], "1, 2 and 1 requests in three turns", asked)


@HISTORY.should(
    reason="If the tool has acted and the turn is forgotten, the next turn makes the agent act again.",
    hint="Store each message when it is there, and not the whole turn at its end.",
)
async def failed_turn_is_remembered(harness: Harness) -> None:
    """If the model fails (500) after a tool has run, the next turn has the question, the call and its result."""
    record = await _converse(harness.with_agent(_surviving(harness.agent_class)), 3, fails=True)
    expect(len(record.calls) == 1, "one call of the tool", len(record.calls))
    _expect(record.history, "dropped", "the failed turn's messages in the next one")


def _surviving(agent_class: type[BaseAgent]) -> type[BaseAgent]:
    """Return the adapter with an answer instead of an exception, after which the user continues."""
    ask: Any = agent_class.answer

    async def answer(self: BaseAgent, query: str) -> Any:
        try:
            return await ask(self, query)
        except Exception:  # noqa: BLE001 - any exception of the framework
            return FAILED

    def answer_in_a_thread(self: BaseAgent, query: str) -> Any:
        try:
            return ask(self, query)
        except Exception:  # noqa: BLE001 - any exception of the framework
            return FAILED

    own = answer if inspect.iscoroutinefunction(ask) else answer_in_a_thread
    return type(agent_class.__name__, (agent_class,), {"answer": own})


@HISTORY.info(reason="The bill of a conversation grows with what is sent again in each turn.")
async def figures_of_ten_turns(harness: Harness) -> Json:
    """Messages of ten turns that are dropped or rewritten, and the bytes of the first request of some turns."""
    record = await _converse(harness, 10)
    figures: dict[str, Json] = {
        f"messages {name}": sum(getattr(turn, name) for turn in record.history) for name in ("dropped", "rewritten")
    }
    for number in (1, 3, 10):
        first = sum(turn.requests for turn in record.history[: number - 1])
        figures[f"bytes, turn {number}"] = len(record.requests[first].received.body)
    return figures
