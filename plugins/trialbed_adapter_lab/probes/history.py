"""Check that messages and results of earlier turns stay in the requests."""

from __future__ import annotations

import inspect
from typing import Any

from trialbed.contracts import BaseAgent
from trialbed.history import TurnHistory
from trialbed.records import Json
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.harness import Harness, ObservedRequest, TrialRecord
from trialbed_adapter_lab.probe import expect, info, should
from trialbed_adapter_lab.probes._conversations import asks_echo, refuse, run_without_waits
from trialbed_adapter_lab.probes._expectations import expect_answer
from trialbed_scripted import ModelTurn, Response, say

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


@should(
    reason="A model knows of the conversation only what it is sent.",
    hint="Keep one session, thread or list of messages for all answers of an instance.",
)
async def three_turns_are_kept(harness: Harness) -> None:
    """The third turn's request has everything that was said in the two before, also the tool's result."""
    _expect((await _converse(harness, 3)).history, "dropped", "every message of the turns before")


@should(
    reason="A window or a summary that sets in later is seen in longer conversations only.",
    hint="Look for a limit of turns, messages or characters that the framework has by default.",
)
async def ten_turns_are_kept(harness: Harness) -> None:
    """The tenth turn's request has everything that was said in the nine before."""
    _expect((await _converse(harness, 10)).history, "dropped", "every message of the turns before")


@should(
    reason="A fact that only a tool said is needed in later turns, too.",
    hint="Keep the messages with calls and results, and not only the texts of user and assistant.",
)
async def results_are_remembered(harness: Harness) -> None:
    """The result of a call is in the request of the next turn."""
    _expect((await _converse(harness, 3)).history, "results_lost", "the tool's result in the next turn")


@should(
    reason="Rules that are sent twice, or in the first turn only, are other rules.",
    hint="Send the system prompt with each request, and do not store it in the history.",
)
async def prompt_in_every_turn(harness: Harness) -> None:
    """Each turn has the system prompt once, and as it was in the first turn."""
    history = (await _converse(harness, 3)).history
    found = next((turn for turn in history if turn.prompt != "kept"), None)
    expect(found is None, "the system prompt of turn 1, once", found and found.text)


@should(
    reason="A model reads a correction before its mistake as nonsense.",
    hint="Append to the history, and send it from the beginning.",
)
async def turns_keep_their_order(harness: Harness) -> None:
    """Messages of earlier turns are sent in the order in which they were said."""
    _expect((await _converse(harness, 3)).history, "reordered", "messages in their order")


@should(
    reason="Requests for a memory or a summary cost tokens and time that no one asked for.",
    hint="Switch the memory off, or declare it.",
)
async def no_requests_beside_the_turns(harness: Harness) -> None:
    """A turn asks the model for its answer and its calls, and for nothing else."""
    record = await _converse(harness, 3)
    _expect(record.history, "extra", "no request with another system prompt or without tools")
    asked = [turn.requests for turn in record.history]
    expect(asked == [1, 2, 1], "1, 2 and 1 requests in three turns", asked)


@should(
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


@info(reason="The bill of a conversation grows with what is sent again in each turn.")
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
