"""The cause of a lower score under a framework's native profile, as far as the wire tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialbed.records import ModelCall, SentCall, TrialResult
from trialbed.results import canonical

UNTOLD = "the wire does not tell"

TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Exceeded|Behavior|Reached|Timeout)?)\b")
"""The type of an exception, at the beginning of a failure's message."""


def loss_cause(native: TrialResult, controlled: TrialResult) -> str:
    """The first cause that explains why a trial did worse than the one of the controlled profile, in words.

    In this order: a limit or an error that ended it, calls that the framework left no way to make, an answer given
    although the model had asked for calls, calls that the framework changed or did not make, changed schemas and
    names, a model that asked for other calls, and more or fewer requests with the same calls.
    """
    return next(_causes(native, controlled), UNTOLD)


def _causes(native: TrialResult, controlled: TrialResult) -> Iterator[str]:
    failure = native.outcome.failure
    if failure is not None and failure.kind == "limit":
        limit = _limit(native) or "max_steps"
        told = "; the controlled profile is told of it and ends by itself" if limit == "max_steps" else ""
        yield f"a limit ended the run ({limit}){told}"
    if failure is not None:
        found = TYPE.match(failure.message)
        yield f"an error ended the run ({found[1] if found else failure.kind})"
    for lost in native.wire.lost:
        yield f"a tool could not be called ({lost.reason})"
    yield from _early_ends(native)
    if _changed_and_refused(native) > _changed_and_refused(controlled):
        yield "calls whose arguments the framework changed, and the Api then refused"
    if _not_made(native) > _not_made(controlled):
        yield "calls that the framework did not make"
    if native.wire.filled:
        yield "optional arguments that the framework offered as required"
    sent, expected = _turns(native), _turns(controlled)
    if _renames(native) and any(call.problem == "unknown tool" for call in _sent(native)):
        yield "renamed tools: the model called one by another name"
    if any(one != other for one, other in zip(sent, expected, strict=False)):
        yield "the model asked for other calls than under the controlled profile"
    if len(sent) > len(expected):
        yield "requests of the framework's own"
    if len(sent) < len(expected):
        yield "the framework ended the run early"


def _turns(result: TrialResult) -> list[list[tuple[str, str]]]:
    """The calls of each answer of the model."""
    return [[(call.tool_name, canonical(call.arguments)) for call in turn.tool_calls] for turn in _answered(result)]


def _sent(result: TrialResult) -> list[SentCall]:
    """The calls of the trial's tools that the model sent, and those of tools that do not exist."""
    known = result.selected_tools
    calls = (call for turn in _answered(result) for call in turn.tool_calls)
    return [call for call in calls if call.problem is not None or call.tool_name in known]


def _renames(result: TrialResult) -> bool:
    return any(call.tool for call in _sent(result))


def _not_made(result: TrialResult) -> int:
    """How many of the calls that the model sent, and that can be made, no Api got."""
    possible = sum(1 for call in _sent(result) if call.problem is None)
    return max(0, possible - len(result.wire.api_calls))


def _changed_and_refused(result: TrialResult) -> int:
    """How many calls an Api refused whose arguments the model had not sent."""
    sent = {canonical(call.arguments) for call in _sent(result)}
    return sum(1 for call in result.wire.api_calls if call.error and canonical(call.arguments) not in sent)


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
