"""A task's expectations, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trialbed.report.inspection._problems import as_text

if TYPE_CHECKING:
    from trialbed.records import ApiRef, Expected, GoldCall, Query


def expected_lines(query: Query) -> Iterator[tuple[str, str]]:
    """Yield ``(label, text)`` of each call, fact, state and limit by which a trial of the task is right."""
    yield from (("expected", _call(call)) for call in query.gold_calls)
    if query.states_calls and query.apis and not query.gold_calls:
        yield "expected", "no calls"
    if query.expected is not None:
        yield from _further(query.expected)
    yield from (("expected in the answer", fact) for fact in query.reference_facts)
    if query.final_state is not None:
        yield "expected final state", as_text(query.final_state)
    if query.reference_answer:
        yield "reference answer", query.reference_answer


def _further(expected: Expected) -> Iterator[tuple[str, str]]:
    yield from (("or", _calls(way)) for way in expected.ways)
    if expected.in_order:
        yield "expected", "the calls are made in this order"
    if expected.only:
        yield "expected", "no other calls are made"
    if expected.never:
        yield "never", ", ".join(map(_name, expected.never))
    limits = {
        "calls of tools": expected.most_calls,
        "requests to the model": expected.most_requests,
        "tokens": expected.most_tokens,
        "seconds": expected.most_seconds,
    }
    yield from (("at most", f"{most:,g} {unit}") for unit, most in limits.items() if most is not None)
    yield from (("check", name) for name in expected.checks)
    yield from (("criterion", text) for text in expected.criteria)
    for test in expected.tests:
        parts = [*(_call(call) for call in test.calls), *(repr(fact) for fact in test.facts)]
        if test.final_state is not None:
            parts.append(f"final state {as_text(test.final_state)}")
        parts += (f"{label} {text}" for label, text in _further(test.expected))
        yield f"test {test.name}", "; ".join(parts)


def _calls(calls: Sequence[GoldCall]) -> str:
    return ", ".join(map(_call, calls)) or "no calls"


def _call(call: GoldCall) -> str:
    return _name(call.api) if call.arguments is None else f"{_name(call.api)} {as_text(call.arguments)}"


def _name(api: ApiRef) -> str:
    return "/".join(filter(None, api.pair))
