"""Check that typical mistakes of real models go back to them, without guessing."""

from __future__ import annotations

import json

from trialbed.texts import number_of
from trialbed_adapter_lab.harness import Harness
from trialbed_adapter_lab.probe import expect, may, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, echoes
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_calls, expect_equal, expect_requests
from trialbed_scripted import ask, call, forever, say

OBJECT = {"text": "x"}

WRITTEN = {
    "encoded twice": json.dumps(json.dumps(OBJECT)),
    "as Python writes them": "{'text': 'x', 'n': None}",
    "with a comma too many": '{"text": "x",}',
    "in a fence": '```json\n{"text": "x"}\n```',
    "twice in succession": '{"text": "x"}{"text": "x"}',
    "in a list": '[{"text": "x"}]',
    "as a bare text": '"x"',
    "as a number": "7",
    "as a boolean": "true",
    "as words": "text=x",
    "cut off": '{"text": "x',
    "as null": "null",
    "with a comment": '{"text": "x"} // done',
    "with words before them": 'Arguments: {"text": "x"}',
}
"""A way to write arguments that are no JSON object -> the text."""

NAMES = (
    *("echo_text", "ECHO_TEXT", "Echo-text", "EchoText", "Echo_txt", "Echo_texts", "Echo_text_", "Echo_text()"),
    *("functions.Echo_text", "Echo_text.call", " Echo_text", "Echo_text<|channel|>", "text", "Echo text", "Echo.text"),
)
"""Names similar to a tool's."""

THOUGHTS = "<think>I need the tool.</think>\n\nI look."

IN_TEXT = (
    '<tool_call>\n{"name": "Echo_text", "arguments": {"text": "x"}}\n</tool_call>',
    '```json\n{"name": "Echo_text", "arguments": {"text": "x"}}\n```',
    'Action: Echo_text\nAction Input: {"text": "x"}\n',
    "[Echo_text(text='x')]",
    '{"name": "Echo_text", "arguments": {"text": "x"}}',
    '{"name": "Echo_text", "parameters": {"text": "x"}}',
    '<function=Echo_text>{"text": "x"}</function>',
    '[TOOL_CALLS] [{"name": "Echo_text", "arguments": {"text": "x"}}]',
)
"""Calls as models write them in a text."""


@should(
    reason="A call with arguments that the model did not write is the framework's, and hides the model's mistake.",
    hint="Read the arguments once, as JSON, and answer with a tool message if they are not an object.",
    quick=True,
)
async def mistaken_arguments_are_no_call(harness: Harness) -> None:
    """Arguments encoded twice, as Python, in a fence, in a list, cut off and the like lead to no call."""
    record = await harness.run(*[ask(call("Echo_text", text)) for text in WRITTEN.values()], "done", max_steps=20)
    expect_answer(record, "done")
    made = [item.arguments for item in record.calls]
    expect(not made, "no call for arguments that are no JSON object", made)


@must(
    reason="These are the commonest mistakes of real models after broken JSON, and models correct them when asked to.",
    hint="Answer with a tool message that names the mistake; some frameworks raise, or end the run silently.",
)
async def mistaken_arguments_go_back(harness: Harness) -> None:
    """After each such call the model gets a result, and its next call is made."""
    for what, text in WRITTEN.items():
        record = await harness.run(ask(call("Echo_text", text)), asks_echo("right"), "done")
        failure = f"the trial failed: {record.failure.message}" if record.failure else ""
        expect(not failure, f"an answer after arguments {what}", failure)
        count = len(expect_requests(record, 3)[1].results)
        expect(count == 1, f"1 result of the call with arguments {what}", number_of(count, "result"))
        last = record.calls[-1].arguments if record.calls else None
        expect_equal(f"arguments of the call after those {what}", last, {"text": "right"})


@should(
    reason="A call of a tool that the model did not name is the framework's guess, and would be scored as the model's.",
    hint="Look a tool up by its whole name; switch the repair of names off.",
    quick=True,
)
async def near_names_are_no_call(harness: Harness) -> None:
    """Names that differ from a tool's by case, a letter, a dash or a namespace lead to no call."""
    # In halves: of long trials other checks say more.
    for names in (NAMES[::2], NAMES[1::2]):
        record = await harness.run(*[ask(call(name, OBJECT)) for name in names], "done", max_steps=10)
        expect_answer(record, "done")
        made = len(record.calls)
        expect(not made, "no call of a tool that is not named", f"{number_of(made, 'call')} for {len(names)} names")


@must(
    binds="all",
    reason="A call that the model did not ask for is the framework's, and would be scored as the model's.",
    hint="Read calls from tool_calls alone; switch parsers of text off.",
)
async def written_calls_are_not_made(harness: Harness) -> None:
    """Calls in tags, fences, as an action, as Python or as the whole text of a message are not made."""
    for text in IN_TEXT:
        record = await harness.run(forever(say(text)), max_steps=3)
        made = [item.arguments for item in record.calls]
        expect(not made, f"no call for the text {text!r}", made)


@should(
    reason="A text in the form of a call is the model's answer, if it calls nothing.",
    hint="End the run with the first message without tool_calls, whatever it says.",
)
async def written_calls_are_the_answer(harness: Harness) -> None:
    """A message that writes a call in its text ends the run, and is the answer."""
    for text in IN_TEXT:
        record = await harness.run(text, "asked again")
        answer = expect_answer(record)
        expect_requests(record, 1)
        expect(answer.final_answer != "", "the model's text as the answer", answer.final_answer)


@must(
    reason="Many models describe each step while they take it, and some think aloud before a call.",
    hint="Look at tool_calls first; a text next to them is not an answer.",
    quick=True,
)
async def calls_beside_text_are_made(harness: Harness) -> None:
    """A call next to a text, to thoughts in tags or to words of an ending is made, and the run goes on."""
    for text in ("Let me look.", THOUGHTS, "Final Answer: Polly.", "I am done."):
        record = await harness.run(ask(call("Echo_text", OBJECT), text=text), "Polly.")
        expect_requests(record, 2)
        expect_calls(record, *echoes("x"))


@may(
    reason="A model that thinks aloud may need its thoughts, and where some frameworks drop them it has another text.",
    hint="Send the content back unchanged; look for a parser of `<think>`.",
)
async def thoughts_beside_calls_are_kept(harness: Harness) -> None:
    """A passage `<think>…</think>` next to a call stays in the conversation."""
    record = await harness.run(ask(call("Echo_text", OBJECT), text=THOUGHTS), "Polly.")
    _, second = expect_requests(record, 2)
    expect_equal("assistant's text", second.said_by("assistant"), [THOUGHTS])


@should(
    reason="Endpoints report other reasons than they should, and such an answer is still the model's.",
    hint="Look at the message, not at finish_reason.",
)
async def answers_count_whatever_the_finish_reason(harness: Harness) -> None:
    """A text is the answer, whether the finish reason is `stop`, `length`, `tool_calls`, `eos` or missing."""
    for reason in ("stop", "length", "tool_calls", "eos", None):
        record = await harness.run(say("done", finish_reason=reason), "asked again")
        expect_answer(record, "done")
        expect_requests(record, 1)
