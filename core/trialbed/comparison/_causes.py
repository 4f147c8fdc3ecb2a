"""The cause of a lower score under a framework's native profile, as far as the wire tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialbed.records import ModelCall, TrialResult

UNTOLD = "the wire does not tell"

TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Exceeded|Behavior|Reached|Timeout)?)\b")
"""The type of an exception, at the beginning of a failure's message."""


def loss_cause(native: TrialResult, controlled: TrialResult) -> str:
    """The first cause that explains why a trial did worse than the one of the controlled profile, in words.

    In this order: a limit or an error that ended it, calls that the framework left no way to make, an answer given
    although the model had asked for calls, changed schemas and names, and requests of the framework's own.
    """
    return next(_causes(native, controlled), UNTOLD)


def _causes(native: TrialResult, controlled: TrialResult) -> Iterator[str]:
    failure = native.outcome.failure
    if failure is not None and failure.kind == "limit":
        yield f"a limit ended the run ({_limit(native) or 'max_steps'})"
    if failure is not None:
        found = TYPE.match(failure.message)
        yield f"an error ended the run ({found[1] if found else failure.kind})"
    for lost in native.wire.lost:
        yield f"a tool could not be called ({lost.reason})"
    yield from _early_ends(native)
    if _refused(native) > _refused(controlled):
        yield "calls that the Api refused, from schemas or arguments that the framework changed"
    if native.wire.filled:
        yield "optional arguments that the framework offered as required"
    if any(call.tool for request in native.wire.model_calls for call in request.tool_calls):
        yield "renamed tools"
    if len(_answered(native)) > len(_answered(controlled)):
        yield "requests of the framework's own"
    if len(_answered(native)) < len(_answered(controlled)):
        yield "the framework ended the run early"


def _early_ends(native: TrialResult) -> Iterator[str]:
    """Ends of runs whose last answer of the model asked for calls: the model never saw their results."""
    answered = _answered(native)
    calls = answered[-1].tool_calls if answered else ()
    if any(call.problem in ("invalid json", "not an object") for call in calls):
        yield "the run ended at arguments that are not a JSON object"
    elif any(call.problem == "unknown tool" for call in calls):
        yield "the run ended at a tool that does not exist"
    elif calls:
        yield "the run ended after calls, without asking the model about their results"


def _answered(result: TrialResult) -> list[ModelCall]:
    return [call for call in result.wire.model_calls if call.cause is None]


def _limit(result: TrialResult) -> str | None:
    return next((call.limit for call in reversed(result.wire.model_calls) if call.limit), None)


def _refused(result: TrialResult) -> int:
    return sum(1 for call in result.wire.api_calls if call.error)
