"""Expectations of checks, each with the observation that it fails for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from trialbed.records import Answer
from trialbed.texts import number_of, one_line
from trialbed_adapter_lab.differences import differences, show, tell_texts_apart
from trialbed_adapter_lab.errors import FAILS, FAILS_EARLY, CheckFailed
from trialbed_adapter_lab.harness import ObservedRequest, TrialRecord
from trialbed_adapter_lab.probe import ASKED_ON, expect
from trialbed_scripted import AFTER_THE_END

SHOWN = 120
"""Characters of a program's failure that are part of its cause."""

SHORT = 40
"""Longest text that is shown completely instead of its first difference."""


def expect_equal(what: str, seen: Any, expected: Any, cause: str = "") -> None:
    """Fail unless both are the same JSON value; reports the first difference."""
    place = difference(expected, seen)
    if place is not None:
        raise CheckFailed(f"{what}: {place}", cause)


def expect_text(what: str, texts: Sequence[str], text: str) -> None:
    """Fail unless any text contains this one; reports the difference if there is only one text."""
    if not any(text in one for one in texts):
        seen = tell_texts_apart(text, texts[0]) if len(texts) == 1 else show(list(texts))
        raise CheckFailed(f"expected {what}; seen: {seen}")


def expect_answer(record: TrialRecord, text: str | None = None) -> Answer:
    """Return the answer of a trial that did not fail, with this text."""
    if record.answer is None:
        raise CheckFailed(f"expected an answer; seen: the trial failed: {_failure(record)}", _failure_cause(record))
    if AFTER_THE_END in record.answer.final_answer:
        count = number_of(len(record.requests), "time")
        raise CheckFailed(f"expected no request after the model's answer; seen: it was asked {count}", ASKED_ON)
    if text is not None:
        expect_equal("final_answer", record.answer.final_answer, text, "the final answer is not the model's last text")
    return record.answer


def expect_requests(record: TrialRecord, times: int, *, or_more: bool = False) -> tuple[ObservedRequest, ...]:
    """Return the requests of a trial that asked the model this many times, or more if a framework may add some."""
    seen = len(record.requests)
    ended = f", and the trial failed: {_failure(record)}" if record.failure else ""
    cause = _failure_cause(record) or f"{'more' if seen > times else 'fewer'} requests to the model than turns"
    what = f"at least {number_of(times, 'model request')}" if or_more else number_of(times, "model request")
    expect(seen == times or (or_more and seen > times), what, f"{number_of(seen, 'request')}{ended}", cause)
    return record.requests


def expect_words(request: ObservedRequest, words: Sequence[str]) -> None:
    """Fail unless each word is in some message of the request."""
    for word in words:
        expect_text(f"{show(word)} in a message to the model", request.said_by(), word)


def expect_calls(record: TrialRecord, *calls: tuple[str, Any]) -> None:
    """Fail unless exactly these calls were made, in any order."""
    made = [[call.tool, call.arguments] for call in record.calls]
    kind = "other" if len(made) == len(calls) else "more" if len(made) > len(calls) else "fewer"
    cause = _failure_cause(record) or f"{kind} calls reached the tools than the model asked for"
    expect_equal("calls that reached the tools", in_order(made), in_order([list(pair) for pair in calls]), cause)


def expect_results(request: ObservedRequest, words: Sequence[str]) -> None:
    """Fail unless the request has as many results as there are words, each with its word, in order.

    Each must be text, with the id of a call in the conversation.
    """
    texts = [text for _, text in request.results]
    right = len(texts) == len(words) and all(word in text for word, text in zip(words, texts, strict=True))
    what = number_of(len(words), "tool message")
    cause = "the model is told other results than those of its calls"
    expect(right, f"{what} with {show(list(words))}" if any(words) else what, texts or "none", cause)
    expect(all(texts), f"{what} with some text", texts)
    ids = {made for made, _, _ in request.tool_calls}
    expect(all(made in ids for made, _ in request.results), f"results of the calls {sorted(ids)}", request.results)


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the values, in an order that does not depend on the one they came in."""
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def difference(expected: Any, seen: Any) -> str | None:
    """Return the first difference of two JSON values, with both values; None if they are equal.

    Types matter: 1 is neither true nor "1". The order of keys does not count.
    """
    found = next(
        iter(differences(*(json.loads(json.dumps(value, sort_keys=True)) for value in (expected, seen)))), None
    )
    if found is None:
        return None
    given, sent, at = found.given, found.sent, f" at {found.pointer}" if found.pointer else ""
    if found.kind == "lost":
        return f"expected {show(given)}{at}; seen: nothing{at}"
    if found.kind == "added":
        return f"expected nothing{at}; seen: {show(sent)}{at}"
    if isinstance(given, str) and isinstance(sent, str) and max(len(given), len(sent)) > SHORT:
        return f"expected another text{at}; seen: {tell_texts_apart(given, sent)}"
    return f"expected {show(given)}{at}; seen: {show(sent)}{at}"


def _failure(record: TrialRecord) -> str:
    if record.failure is None:
        return "no"
    # The markers below a line of code are for those who see the whole traceback.
    lines = [line for line in record.failure.detail.splitlines() if line.strip(" ^~")]
    own, last = _own_frame(record, lines), lines[-5:-1]
    shown_lines = last if not own or own[0] in last else [*own, "  …", *last]
    return f"{record.failure.kind}: {record.failure.message}" + "".join(f"\n  {line}" for line in shown_lines)


def _own_frame(record: TrialRecord, lines: Sequence[str]) -> Sequence[str]:
    """Return the deepest traceback frame in the adapter's own package, with its line of code."""
    start = f'  File "{record.adapter}'
    found = [number for number, line in enumerate(lines) if record.adapter and line.startswith(start)]
    return lines[found[-1] : found[-1] + 2] if found else ()


def _failure_cause(record: TrialRecord) -> str:
    """Return the cause of a failed trial in words, with its place in the adapter; empty if it did not fail."""
    if record.failure is None:
        return ""
    # The frames of a program's failure are Trialbed's own; its words are the program's.
    own = () if record.is_program else _own_frame(record, record.failure.detail.splitlines())
    where = f" in {own[0].strip()}" if own else ""
    said = record.failure.message
    named = one_line(said, SHOWN) if record.is_program else said.partition(":")[0]
    what = "a malformed answer" if record.failure.kind == "answer" else named
    return f"{FAILS if record.requests else f'{FAILS_EARLY},'} with {what}{where}"
