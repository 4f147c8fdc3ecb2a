"""Check that long, nested, empty and multilingual texts pass unchanged, and a thousand tools."""

from __future__ import annotations

from typing import Any

from trialbed.wire import lenient_json
from trialbed_adapter_lab.harness import Harness, returns, tool
from trialbed_adapter_lab.probe import expect, may, must, should
from trialbed_adapter_lab.probes._conversations import FOREIGN, TEXT, asks_echo, converse, long_text
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_equal, expect_requests, expect_text
from trialbed_scripted import ask, call, say

ODD_JSON = '{"b": 1.0, "a" : [1,2 ],"b2":"\\u00e9",  "big": 12345678901234567890, "e": 1e5}\n'
SHORT_JSON = ("null", "true", "false", "0", "1.0", "[]", "{}", '"a text"', " ")
ANSWERS = (
    *('{"say" : "hello", "n": 1.0}', '"Polly."', "Polly [1], caf\u0301e.\r\n", "```\nPolly\n```", TEXT, FOREIGN),
    '  Final Answer:\n\n```json\n{"say": "hello"}\n```\n\n* one\n* two  \n',
)
MANY = 1000
MANY_TIMEOUT = 120.0
"""Seconds for a trial with a thousand tools; some frameworks take a while to build them."""


@should(
    reason="The model works with the results of its calls.",
    hint="Put the text that tool.ainvoke() returns into the tool message, without encoding, quoting or trimming it.",
    quick=True,
)
async def unicode_result(harness: Harness) -> None:
    """A result in many scripts, with emoji, quotes, markup and line breaks, reaches the model unchanged."""
    await _expect_results(harness, FOREIGN, TEXT)


@should(
    reason="Rewriting a text that happens to be JSON changes its numbers, order and spaces.",
    hint="Do not parse what tool.ainvoke() returns; send the tool message with an empty content for an empty text.",
    quick=True,
)
async def json_result_is_not_rewritten(harness: Harness) -> None:
    """A text that looks like JSON, or is empty, reaches the model with its own spaces, numbers and escapes."""
    await _expect_results(harness, ODD_JSON, *SHORT_JSON)
    await _expect_results(harness, "")


@should(
    reason="Some tools return long or deeply nested results; a framework that shortens them changes the task.",
    hint="Look for a limit that the framework sets on the length of tool results; do not traverse or re-encode them.",
)
async def large_results(harness: Harness) -> None:
    """A result of one megabyte, and one of 200 levels, reach the model whole."""
    await _expect_results(harness, long_text(1_000_000))
    deep: Any = "bottom"
    for level in range(100):
        deep = {"level": level, "next": [deep]}
    record = await converse(harness, asks_echo("x"), tools=[tool(behave=returns(deep))])
    _, second, *_ = expect_requests(record, 2, or_more=True)
    expect_equal("the tool message, read as JSON", [lenient_json(text, text) for _, text in second.results], [deep])


@must(
    reason="Tasks are written in many languages.",
    hint="Pass the task on unchanged; do not format it into a template with str.format or %.",
    quick=True,
)
async def unicode_conversation(harness: Harness) -> None:
    """A prompt and a task with letters of many scripts, emoji, braces and markup pass through unchanged."""
    await _expect_texts(harness, f"Query: {TEXT} {FOREIGN} {{query}}", f"Prompt: {TEXT} {FOREIGN} {{query}}", "done")


@must(
    reason="Some tasks ask for long answers, such as reports.",
    hint="Look for a limit that the framework sets on the length of texts.",
)
async def long_conversation(harness: Harness) -> None:
    """A task and an answer of 200,000 characters, and a prompt of 50,000, pass through whole."""
    query = "What is next? " * 15_000 + "The end."
    prompt = "Follow the rules. " * 3_000 + "That is all."
    await _expect_texts(harness, query, prompt, "And then he said: " * 11_000 + "The end.")


@should(
    reason="Judges read the final answer; a changed text may be judged differently.",
    hint="Return the model's last text unchanged; do not trim it or remove markup.",
    quick=True,
)
async def answer_text_is_unchanged(harness: Harness) -> None:
    """Spaces, line breaks, fences, quotes and labels in the model's answer stay in the final answer."""
    for text in ANSWERS:
        expect_answer(await harness.run(text), text)


@may(
    reason="If one framework removes a model's thoughts and another does not, judges read two texts.",
    hint="Return the model's last text unchanged; look for a parser of `<think>`.",
)
async def thoughts_in_the_answer_are_kept(harness: Harness) -> None:
    """A passage `<think>…</think>` in the model's answer stays in the final answer."""
    text = "<think>The parrot knows.</think>\n\nPolly says hello."
    expect_answer(await harness.run(text), text)


@should(
    reason="Models cut emoji in half; the trial must not fail for that.",
    hint="Read the response's JSON with the standard library; return the text unchanged; Trialbed cleans it.",
)
async def half_an_emoji_is_survived(harness: Harness) -> None:
    """An answer that ends in half an emoji (a lone surrogate) is an answer."""
    answer = expect_answer(await harness.run(say("hello \ud83e")))
    expect(answer.final_answer.startswith("hello"), "the final answer `hello` and a replacement", answer.final_answer)


@must(
    reason="Selectors offer up to several hundred tools, and a run without a selector offers all.",
    hint="Look for a limit that the framework sets on the number of tools, or for avoidable work per tool.",
)
async def thousand_tools(harness: Harness) -> None:
    """All of a thousand tools are offered, and the last one is called."""
    tools = [tool(f"Echo_{number:04d}") for number in range(MANY)]
    last = ("Echo_0999", {"text": "last"})
    record = await converse(harness, ask(call(*last)), requests=2, calls=[last], tools=tools, timeout=MANY_TIMEOUT)
    offered = {str(function.get("name")) for function in record.requests[0].functions}
    expect_equal("number of tools on offer", len(offered), MANY)


async def _expect_texts(harness: Harness, query: str, prompt: str, answer: str) -> None:
    record = await converse(harness, answer=answer, query=query, system_prompt=prompt)
    (request,) = expect_requests(record, 1)
    expect_text("the system prompt's text in a system message", request.said_by("system", "developer"), prompt)
    expect_text("the task's text in a user message", request.said_by("user"), query)


async def _expect_results(harness: Harness, *texts: str) -> None:
    """Expect that the model gets these texts for the calls of a turn that return them."""
    tools = [tool(f"Return_{place}", returns(text)) for place, text in enumerate(texts)]
    turn = ask(*(call(one.name, {"text": "x"}) for one in tools))
    record = await converse(harness, turn, requests=2, tools=tools)
    expect_equal("contents of the tool messages", sorted(text for _, text in record.requests[1].results), sorted(texts))
