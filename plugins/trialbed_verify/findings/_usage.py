"""Examines the token counts of an answer: against one another, and against the texts that were sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.wire.dialects.chat_completions import read_request
from trialbed_verify.findings._answers import AnsweredRow, objects_of
from trialbed_verify.findings._kinds import Finding, finding

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

MOST_LETTERS = 20
"""Characters of ordinary text that one token has at most, on average; usual are three to five."""

SLACK = 40
"""Tokens that a template adds to an answer or a call, at most."""

OF_A_TEMPLATE = 4000
"""Tokens that a vendor's own instructions add to a request, at most."""

REPEATED = re.compile(r"(\s|[^\w\s])\1{2,}")
"""Runs of spaces or punctuation, of which one token can have many."""

AGREEMENT = 0.1
"""The share by which two counts of one text may differ: templates and the ends of calls are counted differently."""


def examine_usage(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield counts that are not counts, do not agree with one another, or cannot be those of this answer."""
    reported = answer.reported_usage
    if not reported:
        if not answer.is_streamed or read_request(answer.request).wants_usage:
            yield finding("usage_missing", "no usage came", "")
        return
    if wrong := [name for name in COUNTS if not _is_count(reported.get(name))]:
        yield finding("usage_not_counts", f"not a count: {', '.join(wrong)}", reported)
    prompt, completion, total = (answer.usage.get(name, _count(reported, name)) for name in COUNTS)
    if prompt is not None and completion is not None and total is not None and total != prompt + completion:
        said = f"{total} tokens in total, but {prompt} + {completion} = {prompt + completion}"
        yield finding("total_not_sum", said, reported)
    for name, key, whole in (("completion", "reasoning_tokens", completion), ("prompt", "cached_tokens", prompt)):
        details = reported.get(f"{name}_tokens_details")
        part = details.get(key) if isinstance(details, dict) else None
        if part is not None and not _is_count(part):
            yield finding("usage_details_wrong", f"{key} is not a count", reported)
        elif part is not None and whole is not None and part > whole:
            yield finding("usage_details_wrong", f"{part} {key} of {whole} tokens", reported)
    text = answer.whole_text if completion is not None else ""
    if completion == 0 and text:
        yield finding("completion_tokens_zero", f"0 tokens for {len(text)} characters", reported)
    elif completion is not None and text:
        yield from _completion(answer, completion, text, reported)
    if prompt is not None and answer.request.get("messages"):
        yield from _prompt(answer, prompt, reported)
    elif prompt is not None:
        yield from _compare(answer, prompt, answer.own_count_of_prompt, "prompt", reported)


def _completion(answer: AnsweredRow, counted: int, text: str, reported: Mapping[str, Any]) -> Iterator[Finding]:
    details = reported.get("completion_tokens_details")
    hidden = (_count(details, "reasoning_tokens") or 0) if isinstance(details, dict) else 0
    if answer.count is not None and (own := answer.own_count) is not None:
        yield from _compare(answer, counted - (0 if answer.reasoning else hidden), own, "answer", reported)
        return
    letters = least_letters(text) if len(text) > MOST_LETTERS * counted else 0
    if letters > MOST_LETTERS * counted + SLACK:
        yield finding("completion_tokens_too_few", f"{counted} tokens for {letters} characters", reported)
    size = len(text.encode("utf-8", "surrogatepass"))
    if counted - hidden > size + SLACK * (1 + len(answer.listed_calls)):
        yield finding("completion_tokens_too_many", f"{counted} tokens for {size} bytes", reported)


def _compare(answer: AnsweredRow, counted: int, own: int | None, of: str, reported: Any) -> Iterator[Finding]:
    """Yield a count that differs from that of the model's own tokenizer, where it is at hand."""
    if own is not None and abs(counted - own) > AGREEMENT * own + SLACK * (1 + len(answer.listed_calls)):
        said = f"{counted} tokens are reported for the {of}, and the tokenizer counts {own}"
        yield finding("own_count_differs", said, reported)


def least_letters(text: str) -> int:
    """Count the characters of a text in which runs of one sign count once."""
    return len(REPEATED.sub(r"\1", text))


def _prompt(answer: AnsweredRow, counted: int, reported: Mapping[str, Any]) -> Iterator[Finding]:
    contents = [message.get("content") for message in objects_of(answer.messages)]
    if any(isinstance(content, list) for content in contents):
        # Images and sound have tokens of their own.
        return
    texts = [content for content in contents if isinstance(content, str)]
    asked, most = sum(map(len, texts)), MOST_LETTERS * (counted + 1) + SLACK
    if asked > most and (letters := sum(map(least_letters, texts))) > most:
        yield finding("prompt_tokens_implausible", f"{counted} tokens for {letters} characters", reported)
    elif counted > 2 * asked + OF_A_TEMPLATE:
        keys = ("messages", "tools", "functions", "response_format")
        whole = len(json.dumps([answer.request.get(key) for key in keys]))
        if counted > 2 * whole + OF_A_TEMPLATE:
            yield finding("prompt_tokens_implausible", f"{counted} tokens for {whole} bytes", reported)


def _count(reported: Mapping[str, Any], name: str) -> int | None:
    """Return a count that is too large to be added up with others."""
    value = reported.get(name)
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
