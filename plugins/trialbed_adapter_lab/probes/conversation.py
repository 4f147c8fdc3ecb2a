"""Check that the model's messages are read completely, and go back to it unchanged."""

from __future__ import annotations

from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.harness import Harness
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import converse, echoes
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_results,
    expect_words,
)
from trialbed_scripted import ask, call, say

EXTRAS = {
    "refusal": None,
    "annotations": [],
    "audio": None,
    "reasoning_content": "The parrot knows.",
    "reasoning_details": [{"type": "reasoning.text", "text": "The parrot knows."}],
    "x_vendor": {"cached": True},
}
WRITTEN = '{"text" :  "caf\\u00e9", "n": 1.0}'
WORDS = ("one", "two", "three")


@must(
    reason="Vendors number calls from 0 in every turn; an id is unique within its turn only.",
    hint="Match results to the calls of the turn just made, not by id over the whole conversation.",
)
async def ids_may_come_again(harness: Harness) -> None:
    """Ids that a later turn repeats belong to new calls with their own results."""
    turns = [ask(call("Echo_text", {"text": word}, "call_0")) for word in WORDS]
    record = await converse(harness, *turns, requests=4, calls=echoes(*WORDS))
    expect_results(record.requests[-1], WORDS)


@should(
    reason="Some vendors give every call the same id; a result that is lost misinforms the model.",
    hint="Keep the calls of a turn in a list, not by id.",
    quick=True,
)
async def ids_may_be_equal(harness: Harness) -> None:
    """Two calls of one turn with the same id are both made, and both results go back."""
    turn = ask(*(call("Echo_text", {"text": word}, "call_0") for word in WORDS[:2]))
    record = await converse(harness, turn, calls=echoes(*WORDS[:2]))
    expect_words(record.requests[1], WORDS[:2])


@should(
    reason="A conversation that was rewritten is one that the model did not have.",
    hint="Keep the text of the arguments next to the parsed object, and send the text back.",
)
async def arguments_stay_as_written(harness: Harness) -> None:
    """The arguments of a call are sent back as the model wrote them, spaces, escapes and order included."""
    record = await converse(harness, ask(call("Echo_text", WRITTEN)))
    _, second, *_ = expect_requests(record, 2, or_more=True)
    expect_equal("arguments as sent back", [text for _, _, text in second.tool_calls], [WRITTEN])


@should(
    reason="With its thoughts sent back a model is asked another question, and some endpoints refuse them.",
    hint="Send back the content and the calls of the model's message, and no other field.",
)
async def thoughts_are_not_sent_back(harness: Harness) -> None:
    """The field `reasoning_content` next to a call is not sent back; other dialects want their thoughts back."""
    thoughtful = ask(call("Echo_text", {"text": "x"}), reasoning="A secret thought.")
    record = await converse(harness, thoughtful)
    _, second, *_ = expect_requests(record, 2, or_more=True)
    kept = second.dialect != CHAT or "A secret thought." not in str(second.body)
    expect(kept, "no thoughts in the second request", second.messages)


@must(
    reason="Vendors do not agree on the finish reason of a message with calls.",
    hint="Look at tool_calls, not at finish_reason.",
)
async def calls_count_whatever_the_finish_reason(harness: Harness) -> None:
    """A call in a message is made, whether the finish reason is `stop`, `length` or `tool_calls`."""
    for reason in ("stop", "length", "tool_calls"):
        turn = ask(call("Echo_text", {"text": "x"}), finish_reason=reason)
        await converse(harness, turn, requests=2, calls=echoes("x"))


@must(
    reason="Vendors add their own fields to messages; strict parsers fail on them.",
    hint="Read the fields you know, and ignore the rest.",
)
async def fields_of_vendors_are_tolerated(harness: Harness) -> None:
    """Messages with fields that vendors add are read like any other."""
    with_call = ask(call("Echo_text", {"text": "x"}), fields=EXTRAS)
    record = await harness.run(with_call, say("done", fields=EXTRAS))
    expect_answer(record, "done")
    expect_requests(record, 2)
    expect_calls(record, *echoes("x"))
