"""Conversation: the model's messages are read whole, and go back to it as they were."""

from __future__ import annotations

from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.harness import Harness
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import converse, echoes, parse
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_requests_at_least,
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
    record = await harness.run(*turns, "done")
    answer = expect_answer(record, "done")
    requests = expect_requests(record, 4)
    expect_calls(record, *echoes(*WORDS))
    expect_results(requests[-1], WORDS)
    claimed = [(claim.arguments or {}).get("text") for claim in answer.calls if isinstance(claim.arguments, dict)]
    if record.makes_claims:
        expect_equal("claimed calls", claimed, list(WORDS))


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
    _, second, *_ = expect_requests_at_least(record, 2)
    expect_equal("arguments as sent back", [text for _, _, text in second.tool_calls], [WRITTEN])


@should(
    reason="With its thoughts sent back a model is asked another question, and some endpoints refuse them.",
    hint="Send back the content and the calls of the model's message, and no other field.",
)
async def thoughts_are_not_sent_back(harness: Harness) -> None:
    """The field `reasoning_content` next to a call is not sent back; other dialects want their thoughts back."""
    thoughtful = ask(call("Echo_text", {"text": "x"}), reasoning="A secret thought.")
    record = await converse(harness, thoughtful)
    _, second, *_ = expect_requests_at_least(record, 2)
    kept = second.dialect != CHAT or "A secret thought." not in str(second.body)
    expect(kept, "no thoughts in the second request", second.messages)


@should(
    reason="The model must recognise its own calls in the conversation, or it continues from words it did not say.",
    hint="Send the assistant message back with its tool_calls: ids, names and arguments as they came.",
)
async def calls_stay_in_the_conversation(harness: Harness) -> None:
    """The model's message with its calls is sent back unchanged, followed by the results."""
    turn = ask(call("Echo_text", {"text": "a"}, "id_a"), call("Echo_text", {"text": "b"}, "id_b"))
    record = await converse(harness, turn)
    _, second = expect_requests(record, 2)
    expect_equal("roles", second.roles[-3:], ["assistant", "tool", "tool"])
    expected = [["id_a", "Echo_text", {"text": "a"}], ["id_b", "Echo_text", {"text": "b"}]]
    seen = [[made, name, parse(arguments)] for made, name, arguments in second.tool_calls]
    expect_equal("tool_calls of the assistant message", seen, expected)


@should(
    reason="What a model says next to its calls is often its plan.",
    hint="Keep the content of an assistant message that has tool_calls.",
)
async def text_beside_calls_is_kept(harness: Harness) -> None:
    """Text that the model writes next to a call stays in the conversation."""
    record = await harness.run(ask(call("Echo_text", {"text": "a"}), text="First I ask the parrot."), "done")
    _, second, *_ = expect_requests_at_least(record, 2)
    expect_equal("assistant's text", second.said_by("assistant"), ["First I ask the parrot."])


@must(
    reason="Vendors do not agree on the finish reason of a message with calls.",
    hint="Look at tool_calls, not at finish_reason.",
)
async def calls_count_whatever_the_finish_reason(harness: Harness) -> None:
    """A call in a message is made, whether the finish reason is `stop`, `length` or `tool_calls`."""
    for reason in ("stop", "length", "tool_calls"):
        await converse(
            harness,
            ask(call("Echo_text", {"text": "x"}), finish_reason=reason),
            requests=2,
            calls=echoes("x"),
        )


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
