"""The cause of a lower score under a framework's native profile, as far as the wire shows it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from trialbed.records import ApiCall, ModelCall, SentCall, TrialResult
from trialbed.tool_calls import canonical, replaced, was_told

UNTOLD = "the wire does not tell"

TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Exceeded|Behavior|Reached|Timeout)?)\b")
"""The type of an exception, at the beginning of a failure's message."""


OTHER_CALLS = "the model asked for other calls than under the controlled profile"


def loss_cause(native: TrialResult, controlled: TrialResult) -> str:
    """The first cause that explains why a trial did worse than the one of the controlled profile, in words.

    In this order: a limit or an error that ended it, calls that the framework left no way to make, an answer given
    although the model had asked for calls, what the framework did to calls and results while the model asked for the
    same calls, changed schemas and names, a model that asked for other calls, an answer that is not the model's, and
    more or fewer requests with the same calls.
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
    sent, expected = _turns(native), _turns(controlled)
    parting = next(
        (place for place, (one, other) in enumerate(zip(sent, expected, strict=False)) if one != other), None
    )
    yield from _doings(native, controlled, parting)
    if native.wire.filled:
        yield "optional arguments that the framework offered as required"
    if _renames(native) and any(call.problem == "unknown tool" for call in _sent_calls(native)):
        yield "renamed tools: the model called one by another name"
    if parting is not None:
        yield "; ".join([OTHER_CALLS, *islice(_doings(native, controlled, None), 1)])
    if _replaces(native) and not _replaces(controlled):
        yield "an answer that is not the model's"
    if len(sent) > len(expected):
        yield "requests of the framework's own"
    if len(sent) < len(expected):
        yield "the framework ended the run early"


def _doings(native: TrialResult, controlled: TrialResult, parting: int | None) -> Iterator[str]:
    """Yield the changes that the framework made to calls and results, and the controlled profile did not.

    Args:
        parting: the answer of the model from which on it asked for other calls. What the framework did to these may
            come from them, and is left out.
    """
    one, other = _until(native, parting), _until(controlled, parting)
    changed = _changed_calls(one, {canonical(call.arguments) for call in controlled.wire.api_calls})
    if any(call.error for call in changed):
        yield "calls whose arguments the framework changed, and the Api then refused"
    if _not_made(one) > _not_made(other):
        yield "calls that the framework did not make"
    if changed:
        yield "calls whose arguments the framework changed"
    if _untold(one, native) > _untold(other, controlled):
        yield "results that the framework did not tell the model"


def _until(result: TrialResult, parting: int | None) -> TrialResult:
    """A trial without what came from an answer of the model on; the whole trial if there is none such."""
    if parting is None:
        return result
    last = _answered_turns(result)[parting]
    end = last.started + last.duration
    wire = result.wire.model_copy(
        update={
            "model_calls": tuple(call for call in result.wire.model_calls if call.started + call.duration < end),
            "api_calls": tuple(call for call in result.wire.api_calls if call.started < end),
        }
    )
    return result.model_copy(update={"wire": wire})


def _untold(part: TrialResult, whole: TrialResult) -> int:
    """Count the results of calls of which no later request to the model has anything."""
    calls = [call for call in part.wire.api_calls if not call.error and call.status == 200]
    return sum(was_told(whole.wire, call.arguments, call.response, call.started) is False for call in calls)


def _replaces(result: TrialResult) -> bool:
    answer = result.outcome.answer
    return answer is not None and replaced(answer.final_answer, result.wire)


def _turns(result: TrialResult) -> list[list[tuple[str, str]]]:
    """The calls of each answer of the model."""
    return [
        [(call.tool_name, canonical(call.arguments)) for call in turn.tool_calls] for turn in _answered_turns(result)
    ]


def _sent_calls(result: TrialResult) -> list[SentCall]:
    """The calls of the trial's tools that the model sent, and those of tools that do not exist."""
    known = result.selected_tools
    calls = (call for turn in _answered_turns(result) for call in turn.tool_calls)
    return [call for call in calls if call.problem is not None or call.tool_name in known]


def _renames(result: TrialResult) -> bool:
    return any(call.tool for call in _sent_calls(result))


def _not_made(result: TrialResult) -> int:
    """Count the calls that the model sent and that can be made, but that no Api got."""
    possible = sum(1 for call in _sent_calls(result) if call.problem is None)
    return max(0, possible - len(result.wire.api_calls))


def _changed_calls(result: TrialResult, harmless: Collection[str]) -> list[ApiCall]:
    """The calls whose arguments neither the model had sent nor the Apis get under the controlled profile."""
    sent = {canonical(call.arguments) for call in _sent_calls(result)}
    return [call for call in result.wire.api_calls if canonical(call.arguments) not in sent | set(harmless)]


def _early_ends(native: TrialResult) -> Iterator[str]:
    """Ends of runs whose last answer of the model asked for calls: the model never saw their results."""
    answered = _answered_turns(native)
    calls = answered[-1].tool_calls if answered else ()
    if any(call.problem in ("invalid json", "not an object") for call in calls):
        yield "the run ended at arguments that are not a JSON object"
    elif any(call.problem == "unknown tool" for call in calls):
        yield "the run ended at a tool that does not exist"
    elif calls:
        yield "the run ended after calls, without asking the model about their results"


def _answered_turns(result: TrialResult) -> list[ModelCall]:
    return [call for call in result.wire.model_calls if call.cause is None]


def _limit(result: TrialResult) -> str | None:
    return next((call.limit for call in reversed(result.wire.model_calls) if call.limit), None)
