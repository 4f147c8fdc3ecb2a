"""Examines the token counts of an answer: against one another, and against the texts that were sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow
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
        if not answer.is_streamed or answer.wants_usage:
            yield finding("usage_missing", "no usage came", "")
        return
    yield from _numbers(reported)
    usage = answer.usage
    prompt, completion, total = (usage.get(name, _count(reported, name)) for name in COUNTS)
    if prompt is not None and completion is not None and total is not None and total != prompt + completion:
        said = f"{total} tokens in total, but {prompt} + {completion} = {prompt + completion}"
        yield finding("total_not_sum", said, reported)
    yield from _parts(reported, prompt, completion)
    if completion is not None:
        yield from _completion(answer, completion, reported)
    if prompt is not None and answer.request.get("messages"):
        yield from _prompt(answer, prompt, reported)
    elif prompt is not None and (own := answer.own_count_of_prompt) is not None and _differ(prompt, own, answer):
        said = f"{prompt} tokens are reported for the prompt, and the tokenizer counts {own}"
        yield finding("own_count_differs", said, reported)


def _numbers(reported: Mapping[str, Any]) -> Iterator[Finding]:
    wrong = {name: reported.get(name) for name in COUNTS if not _is_count(reported.get(name))}
    if wrong:
        yield finding("usage_not_counts", f"not a count: {', '.join(wrong)}", reported)


def _parts(reported: Mapping[str, Any], prompt: int | None, completion: int | None) -> Iterator[Finding]:
    for name, key, whole in (
        ("completion_tokens_details", "reasoning_tokens", completion),
        ("prompt_tokens_details", "cached_tokens", prompt),
    ):
        details = reported.get(name)
        part = details.get(key) if isinstance(details, dict) else None
        if part is not None and not _is_count(part):
            yield finding("usage_details_wrong", f"{key} is not a count", reported)
        elif part is not None and whole is not None and part > whole:
            yield finding("usage_details_wrong", f"{part} {key} of {whole} tokens", reported)


def _completion(answer: AnsweredRow, counted: int, reported: Mapping[str, Any]) -> Iterator[Finding]:
    text = answer.whole_text
    if not text:
        return
    if counted == 0:
        yield finding("completion_tokens_zero", f"0 tokens for {len(text)} characters", reported)
        return
    own = answer.own_count
    if own is not None:
        hidden = 0 if answer.reasoning else _detail(reported, "completion_tokens_details", "reasoning_tokens")
        if _differ(counted - hidden, own, answer):
            said = f"{counted} tokens are reported for the answer, and the tokenizer counts {own}"
            yield finding("own_count_differs", said, reported)
        return
    letters = least_letters(text) if len(text) > MOST_LETTERS * counted else 0
    if letters > MOST_LETTERS * counted + SLACK:
        yield finding("completion_tokens_too_few", f"{counted} tokens for {letters} characters", reported)
    size = len(text.encode("utf-8", "surrogatepass"))
    hidden = _detail(reported, "completion_tokens_details", "reasoning_tokens")
    if counted - hidden > size + SLACK * (1 + len(answer.listed_calls)):
        yield finding("completion_tokens_too_many", f"{counted} tokens for {size} bytes", reported)


def least_letters(text: str) -> int:
    """Count the characters of a text in which runs of one sign count once."""
    return len(REPEATED.sub(r"\1", text))


def _differ(reported: int, own: int, answer: AnsweredRow) -> bool:
    return abs(reported - own) > AGREEMENT * own + SLACK * (1 + len(answer.listed_calls))


def _prompt(answer: AnsweredRow, counted: int, reported: Mapping[str, Any]) -> Iterator[Finding]:
    if any(isinstance(message, dict) and isinstance(message.get("content"), list) for message in answer.messages):
        # Images and sound have tokens of their own.
        return
    texts = [text for message in answer.messages if (text := _text(message))]
    asked = sum(map(len, texts))
    most = MOST_LETTERS * (counted + 1) + SLACK
    if asked > most:
        letters = sum(map(least_letters, texts))
        if letters > most:
            yield finding("prompt_tokens_implausible", f"{counted} tokens for {letters} characters", reported)
    elif counted > 2 * asked + OF_A_TEMPLATE:
        whole = len(
            json.dumps([answer.request.get(key) for key in ("messages", "tools", "functions", "response_format")])
        )
        if counted > 2 * whole + OF_A_TEMPLATE:
            yield finding("prompt_tokens_implausible", f"{counted} tokens for {whole} bytes", reported)


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _detail(reported: Mapping[str, Any], name: str, key: str) -> int:
    details = reported.get(name)
    count = details.get(key) if isinstance(details, dict) else None
    return count if _is_count(count) and count is not None else 0


def _count(reported: Mapping[str, Any], name: str) -> int | None:
    """Return a count that is too large to be added up with others."""
    value = reported.get(name)
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
