"""Examines the token counts of an answer: against one another, and against the texts that were sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.wire.dialects.chat_completions import read_request
from trialbed_verify.findings._answers import AnsweredRow, is_whole, least_letters, object_of, objects_of
from trialbed_verify.findings._kinds import MOST_LETTERS, SLACK, Check

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

OF_A_TEMPLATE = 4000
"""Tokens that a vendor's own instructions add to a request, at most."""

AGREEMENT = 0.1
"""The share by which two counts of one text may differ: templates and the ends of calls are counted differently."""


def examine_usage(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the counts: whether they are counts, agree with one another, and can be those of this answer."""
    reported = answer.reported_usage
    if not reported:
        yield not answer.is_streamed or read_request(answer.request).wants_usage, "usage_missing", "", ""
        return
    wrong = [name for name in COUNTS if not _is_count(reported.get(name))]
    yield wrong, "usage_not_counts", ", ".join(wrong), reported
    prompt, completion, total = (answer.usage.get(name, _count(reported, name)) for name in COUNTS)
    if prompt is not None and completion is not None:
        summed = prompt + completion
        yield total not in (None, summed), "total_not_sum", (total, prompt, completion, summed), reported
    for name, key, whole in (("completion", "reasoning_tokens", completion), ("prompt", "cached_tokens", prompt)):
        part = object_of(reported.get(f"{name}_tokens_details")).get(key)
        if part is not None and not _is_count(part):
            yield True, "usage_details_wrong", f"{key} is not a count", reported
        elif part is not None and whole is not None:
            yield part > whole, "usage_details_wrong", f"{part} {key} of {whole} tokens", reported
    text = answer.whole_text if completion is not None else ""
    yield completion == 0 and text, "completion_tokens_zero", len(text), reported
    if completion and text:
        yield from _completion(answer, completion, text, reported)
    if prompt is not None and answer.request.get("messages"):
        yield from _prompt(answer, prompt, reported)
    elif prompt is not None:
        yield from _compare(answer, prompt, answer.own_count_of_prompt, "prompt", reported)


def _completion(answer: AnsweredRow, counted: int, text: str, reported: Mapping[str, Any]) -> Iterator[Check]:
    hidden = _count(object_of(reported.get("completion_tokens_details")), "reasoning_tokens") or 0
    if (own := answer.own_count) is not None:
        yield from _compare(answer, counted - (0 if answer.reasoning else hidden), own, "answer", reported)
        return
    letters = least_letters(text) if len(text) > MOST_LETTERS * counted else 0
    yield letters > MOST_LETTERS * counted + SLACK, "completion_tokens_too_few", (counted, letters), reported
    size = len(text.encode("utf-8", "surrogatepass"))
    most = size + SLACK * (1 + len(answer.listed_calls))
    yield counted - hidden > most, "completion_tokens_too_many", (counted, size), reported


def _compare(answer: AnsweredRow, counted: int, own: int | None, of: str, reported: Any) -> Iterator[Check]:
    """Yield the check of a count against that of the model's own tokenizer, where it is at hand."""
    if own is not None:
        most = AGREEMENT * own + SLACK * (1 + len(answer.listed_calls))
        yield abs(counted - own) > most, "own_count_differs", (counted, of, own), reported


def _prompt(answer: AnsweredRow, counted: int, reported: Mapping[str, Any]) -> Iterator[Check]:
    contents = [message.get("content") for message in objects_of(answer.messages)]
    if any(isinstance(content, list) for content in contents):
        # Images and sound have tokens of their own.
        return
    texts = [content for content in contents if isinstance(content, str)]
    asked, most = sum(map(len, texts)), MOST_LETTERS * (counted + 1) + SLACK
    letters = sum(map(least_letters, texts)) if asked > most else 0
    yield letters > most, "prompt_tokens_implausible", (counted, f"{letters} characters"), reported
    if letters <= most and counted > 2 * asked + OF_A_TEMPLATE:
        keys = ("messages", "tools", "functions", "response_format")
        size = len(json.dumps([answer.request.get(key) for key in keys]))
        yield counted > 2 * size + OF_A_TEMPLATE, "prompt_tokens_implausible", (counted, f"{size} bytes"), reported


def _count(reported: Mapping[str, Any], name: str) -> int | None:
    """Return a count that is too large to be added up with others."""
    value = reported.get(name)
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0
