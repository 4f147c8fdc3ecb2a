"""Sizes: long, nested, empty and multilingual texts pass through unchanged, and so do a thousand tools."""

from __future__ import annotations

from typing import Any

from trialbed_adapter_lab.harness import Harness, returns, tool
from trialbed_adapter_lab.probe import expect, may, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, converse, parse
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_requests_at_least,
    expect_text,
)
from trialbed_adapter_lab.probes._samples import TEXT
from trialbed_scripted import ask, call, say

FOREIGN = (
    "Zürich, 東京, القاهرة, עברית, 🦜👩‍🚀, \u200b, \ufb01, “quotes”, \\n, <b>&amp;</b>, {braces}, %s\n\ttab\r\nend"
)
ODD_JSON = '{"b": 1.0, "a" : [1,2 ],"b2":"\\u00e9",  "big": 12345678901234567890, "e": 1e5}\n'
SHORT_JSON = ("null", "true", "false", "0", "1.0", "[]", "{}", '"a text"', " ")
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
    for text in (FOREIGN, TEXT):
        await _expect_result(harness, text, text)


@should(
    reason="Rewriting a text that happens to be JSON changes its numbers, order and spaces.",
    hint="Do not parse what tool.ainvoke() returns.",
    quick=True,
)
async def json_result_is_not_rewritten(harness: Harness) -> None:
    """A text that looks like JSON reaches the model with its own spaces, numbers and escapes."""
    for text in (ODD_JSON, *SHORT_JSON):
        await _expect_result(harness, text, text)


@should(
    reason="An empty result is a valid result.",
    hint="Send the tool message with an empty content; do not replace it with a text of the framework's.",
)
async def empty_result(harness: Harness) -> None:
    """An empty result reaches the model as an empty text."""
    await _expect_result(harness, "", "")


@should(
    reason="Real Apis return deeply nested documents.",
    hint="Do not traverse or re-encode results.",
)
async def deep_result(harness: Harness) -> None:
    """A result of 200 levels reaches the model as its JSON text."""
    deep: Any = "bottom"
    for level in range(100):
        deep = {"level": level, "next": [deep]}
    record = await converse(harness, asks_echo("x"), tools=[tool(behave=returns(deep))])
    _, second, *_ = expect_requests_at_least(record, 2)
    expect_equal("the tool message, read as JSON", [parse(text) for _, text in second.results], [deep])


@should(
    reason="Some Apis return long results; a framework that shortens them changes the task.",
    hint="Look for a limit that the framework sets on the length of tool results.",
)
async def megabyte_result(harness: Harness) -> None:
    """A result of one megabyte reaches the model whole."""
    text = "".join(f"line {number:06d} of a long report\n" for number in range(32_000))
    await _expect_result(harness, text, text)


@must(
    reason="Queries are written in many languages.",
    hint="Pass the query on as it is; do not format it into a template with str.format or %.",
    quick=True,
)
async def unicode_conversation(harness: Harness) -> None:
    """A prompt and a query with letters of many scripts, emoji, braces and markup pass through unchanged."""
    query = f"Query: {TEXT} {FOREIGN} {{query}}"
    prompt = f"Prompt: {TEXT} {FOREIGN} {{query}}"
    record = await harness.run("done", query=query, system_prompt=prompt)
    expect_answer(record)
    (request,) = expect_requests(record, 1)
    expect_text("the query's text in a user message", request.said_by("user"), query)
    expect_text("the system prompt's text in a system message", request.said_by("system", "developer"), prompt)


@must(
    reason="Some tasks ask for long answers, such as reports.",
    hint="Look for a limit that the framework sets on the length of texts.",
)
async def long_conversation(harness: Harness) -> None:
    """A query and an answer of 200,000 characters, and a prompt of 50,000, pass through whole."""
    query = "What is next? " * 15_000 + "The end."
    prompt = "Follow the rules. " * 3_000 + "That is all."
    text = "And then he said: " * 11_000 + "The end."
    record = await converse(harness, answer=text, query=query, system_prompt=prompt)
    (request,) = expect_requests(record, 1)
    prompts = request.said_by("system", "developer")
    expect_text("the system prompt's whole text in a system message", prompts, prompt)
    expect_text("the query's whole text in a user message", request.said_by("user"), query)


@should(
    reason="Judges read the final answer; a changed text may be judged differently.",
    hint="Return the model's last text as it is; do not trim it or remove markup.",
    quick=True,
)
async def answer_text_is_unchanged(harness: Harness) -> None:
    """Spaces, line breaks, fences, quotes and labels in the model's answer stay in the final answer."""
    for text in (
        '{"say" : "hello", "n": 1.0}',
        '"Polly."',
        "Polly [1], caf\u0301e.\r\n",
        "```\nPolly\n```",
        TEXT,
        FOREIGN,
    ):
        expect_answer(await harness.run(text), text)
    text = '  Final Answer:\n\n```json\n{"say": "hello"}\n```\n\n* one\n* two  \n'
    expect_answer(await harness.run(text), text)


@may(
    reason="If one framework removes a model's thoughts and another does not, judges read two texts.",
    hint="Return the model's last text as it is; look for a parser of `<think>`.",
)
async def thoughts_in_the_answer_are_kept(harness: Harness) -> None:
    """A passage `<think>…</think>` in the model's answer stays in the final answer."""
    text = "<think>The parrot knows.</think>\n\nPolly says hello."
    expect_answer(await harness.run(text), text)


@should(
    reason="A completion that ends at its token limit is still the model's answer.",
    hint="Look for frameworks that raise on the finish reason `length`.",
)
async def cut_off_answer_is_kept(harness: Harness) -> None:
    """An answer that was cut off at its token limit is the final answer."""
    text = "A long story, and then"
    expect_answer(await harness.run(say(text, finish_reason="length")), text)


@should(
    reason="Models cut emoji in half; the trial must not fail for that.",
    hint="Read the response's JSON with the standard library; return the text as it is; Trialbed cleans it.",
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
    turn = ask(call("Echo_0999", {"text": "last"}))
    record = await converse(harness, turn, tools=tools, timeout=MANY_TIMEOUT)
    first, _ = expect_requests(record, 2)
    offered = {str(function.get("name")) for function in first.functions}
    expect_equal("number of tools on offer", len(offered), MANY)
    expect_calls(record, ("Echo_0999", {"text": "last"}))


async def _expect_result(harness: Harness, response: Any, expected: str) -> None:
    """Expect that the model gets this text for a call that returned the response."""
    record = await converse(harness, asks_echo("x"), tools=[tool(behave=returns(response))])
    _, second = expect_requests(record, 2)
    expect_equal("content of the tool message", [text for _, text in second.results], [expected])
