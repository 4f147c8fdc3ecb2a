"""Comparisons within one run: each framework with the reference, and each native profile with the controlled one.

The cause of a lower score under a native profile is looked for as far as the wire shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Literal

from trialbed.errors import UsageError
from trialbed.records import (
    CONTROLLED,
    NATIVE,
    SETTINGS,
    ModelCall,
    SentCall,
    TrialResult,
    framework_name,
    framework_profile,
    framework_release,
    label_settings,
    meant_labels,
    varied_framework,
)
from trialbed.report.comparison._findings import HEADLINE, ScoreFinding, paired_findings
from trialbed.report.comparison._sides import QueryId, Side
from trialbed.store import TrialTable
from trialbed.tool_calls import canonical, replaced, was_told

REFERENCE = "reference"

Kind = Literal["reference", "profile"]
"""The subject of a comparison: the run's baseline, or the controlled profile of the same framework."""


@dataclass(frozen=True)
class FrameworkComparison:
    """A framework beside another of its run.

    Attributes:
        kind: ``reference``, or ``profile`` for the controlled profile of the same framework.
        against: the other one.
        scores: the findings by score.
        causes: of a profile: cause of a lower score -> its queries, the most frequent first.
    """

    kind: Kind
    against: str
    scores: Mapping[str, ScoreFinding]
    causes: Mapping[str, Sequence[QueryId]] = field(default_factory=dict)


def compare_frameworks(
    sides: Mapping[str, Side],
    *,
    against: str | None,
    margin: float,
    results: Callable[[Sequence[int]], Iterator[TrialResult]],
) -> dict[str, tuple[FrameworkComparison, ...]]:
    """Return the comparisons of each framework of a run.

    Args:
        sides: framework -> its trials.
        against: the framework that the others are compared with; None for ``reference``, or the first if that is not
            in the run.
        margin: the largest difference of a score that does not matter.
        results: yields trials by their rows, with the bodies that show the causes.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    found: dict[str, list[FrameworkComparison]] = {name: [] for name in sides}
    pairs = run_pairs(list(sides.values()), against)
    judged = paired_findings([(baseline, candidate) for baseline, candidate, _ in pairs], margin)
    for (baseline, candidate, kinds), scores in zip(pairs, judged, strict=True):
        for kind in kinds:
            lower = {query for finding in scores.values() for query in finding.worse} if kind == "profile" else ()
            causes = _causes(candidate.trials, baseline.trials, lower, results) if lower else {}
            found[candidate.name].append(FrameworkComparison(kind, baseline.name, scores, causes))
    return {name: tuple(own) for name, own in found.items()}


def run_pairs(sides: Sequence[Side], against: str | None) -> list[tuple[Side, Side, Sequence[Kind]]]:
    """Return the pairs of a run that are compared at once, whichever command asks: each pair once, none that is void.

    Returns:
        Baseline, candidate and why they are compared: for both reasons if the controlled profile is the baseline too.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    by_name = {side.name: side for side in sides}
    kinds: dict[tuple[str, str], list[Kind]] = {}
    baseline = chosen_baseline(list(by_name), against)
    for name in by_name:
        if name != baseline:
            # The baseline with the settings of a framework that has some of its own.
            alike = f"{varied_framework(baseline)}{SETTINGS}{label_settings(name)}"
            has_own = label_settings(name) and alike != name and alike in by_name
            kinds.setdefault((alike if has_own else baseline, name), []).append("reference")
    packages = {name: (framework_name(name), framework_release(name), label_settings(name)) for name in by_name}
    controlled = {packages[name]: name for name in by_name if framework_profile(name) == CONTROLLED}
    for name in by_name:
        if framework_profile(name) == NATIVE and packages[name] in controlled:
            kinds.setdefault((controlled[packages[name]], name), []).append("profile")
    pairs = [(by_name[one], by_name[other], tuple(own)) for (one, other), own in kinds.items()]
    return [pair for pair in pairs if not (pair[0].void or pair[1].void)]


def _causes(
    native: TrialTable,
    controlled: TrialTable,
    queries: Collection[QueryId],
    results: Callable[[Sequence[int]], Iterator[TrialResult]],
) -> dict[str, list[QueryId]]:
    """Return the causes of lower scores, the most frequent first: each with its queries."""
    others = {(row.query_id, row.repeat): row for row in controlled}
    rows = list[int]()
    for one in sorted(native, key=itemgetter("row")):
        other = others.get((one.query_id, one.repeat)) if one.query_id in queries else None
        if other and any((one.score(name) or 0.0) < (other.score(name) or 0.0) for name in HEADLINE):
            rows += [int(one["row"]), int(other["row"])]
    found: dict[str, dict[QueryId, None]] = {}
    read = results(rows)
    for ours, theirs in zip(read, read, strict=True):
        found.setdefault(loss_cause(ours, theirs), {})[ours.key.query_id] = None
    return {cause: list(own) for cause, own in sorted(found.items(), key=lambda item: -len(item[1]))}


def chosen_baseline(frameworks: Sequence[str], against: str | None) -> str:
    """Return the framework that the others are compared with: as named, or the one whose name alone is meant.

    Raises:
        UsageError: it is not among them, or the name alone means several.
    """
    if against is None:
        return REFERENCE if REFERENCE in frameworks else frameworks[0]
    if against in frameworks:
        return against
    meant = meant_labels(against, frameworks)
    if len(meant) == 1:
        return meant[0]
    raise UsageError(f"--against: {against!r} is not one framework of the run: {', '.join(frameworks)}")


UNTOLD = "the wire does not tell"

TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Exceeded|Behavior|Reached|Timeout)?)\b")
"""The type of an exception, at the beginning of a failure's message."""


OTHER_CALLS = "the model asked for other calls than under the controlled profile"


def loss_cause(native: TrialResult, controlled: TrialResult) -> str:
    """Return the first cause that explains why a trial did worse than the one of the controlled profile, in words.

    In this order: a limit or an error that ended it, calls that the framework left no way to make, an answer given
    although the model had asked for calls, what the framework did to calls and results while the model asked for the
    same calls, changed schemas and names, a model that asked for other calls, an answer that is not the model's, and
    more or fewer requests with the same calls.
    """
    return next(_causes_of_loss(native, controlled), UNTOLD)


def _causes_of_loss(native: TrialResult, controlled: TrialResult) -> Iterator[str]:
    failure = native.outcome.failure
    if failure is not None and failure.kind == "limit":
        limit = next((call.limit for call in reversed(native.wire.model_calls) if call.limit), "max_steps")
        told = "; the controlled profile is told of it and ends by itself" if limit == "max_steps" else ""
        yield f"a limit ended the run ({limit}){told}"
    if failure is not None:
        found = TYPE.match(failure.message)
        yield f"an error ended the run ({found[1] if found else failure.kind})"
    for lost in native.wire.lost:
        yield f"a tool could not be called ({lost.reason})"
    # If the last answer of the model asked for calls, it never saw their results.
    answered = _answered_turns(native)
    last = answered[-1].tool_calls if answered else ()
    if any(call.problem in ("invalid json", "not an object") for call in last):
        yield "the run ended at arguments that are not a JSON object"
    elif any(call.problem == "unknown tool" for call in last):
        yield "the run ended at a tool that does not exist"
    elif last:
        yield "the run ended after calls, without asking the model about their results"
    sent, expected = (
        [[(call.tool_name, canonical(call.arguments)) for call in turn.tool_calls] for turn in _answered_turns(one)]
        for one in (native, controlled)
    )
    parting = next((place for place, pair in enumerate(zip(sent, expected, strict=False)) if pair[0] != pair[1]), None)
    yield from _doings(native, controlled, parting)
    if native.wire.filled:
        yield "optional arguments that the framework offered as required"
    asked = _sent_calls(native)
    if any(call.tool for call in asked) and any(call.problem == "unknown tool" for call in asked):
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
        parting: the answer of the model from which on it asked for other calls. Changes of these may
            come from them, and are left out.
    """
    one, other = _until(native, parting), _until(controlled, parting)
    # Arguments that neither the model had sent nor the Apis get under the controlled profile.
    known = {canonical(call.arguments) for call in controlled.wire.api_calls}
    known |= {canonical(call.arguments) for call in _sent_calls(one)}
    changed = [call for call in one.wire.api_calls if canonical(call.arguments) not in known]
    if any(call.error for call in changed):
        yield "calls whose arguments the framework changed, and the Api then refused"
    if _not_made(one) > _not_made(other):
        yield "calls that the framework did not make"
    if changed:
        yield "calls whose arguments the framework changed"
    if _untold(one, native) > _untold(other, controlled):
        yield "results that the framework did not tell the model"


def _until(result: TrialResult, parting: int | None) -> TrialResult:
    """Return a trial without what came from an answer of the model on; the whole trial if there is none such."""
    if parting is None:
        return result
    last = _answered_turns(result)[parting]
    end, wire = last.started + last.duration, result.wire
    asked = tuple(call for call in wire.model_calls if call.started + call.duration < end)
    made = tuple(call for call in wire.api_calls if call.started < end)
    return result.model_copy(update={"wire": wire.model_copy(update={"model_calls": asked, "api_calls": made})})


def _untold(part: TrialResult, whole: TrialResult) -> int:
    """Count the results of calls of which no later request to the model has anything."""
    calls = [call for call in part.wire.api_calls if not call.error and call.status == 200]
    return sum(was_told(whole.wire, call.arguments, call.response, call.started) is False for call in calls)


def _replaces(result: TrialResult) -> bool:
    answer = result.outcome.answer
    return answer is not None and replaced(answer.final_answer, result.wire)


def _sent_calls(result: TrialResult) -> list[SentCall]:
    """Return the calls of the trial's tools that the model sent, and those of tools that do not exist."""
    known = result.selected_tools
    calls = (call for turn in _answered_turns(result) for call in turn.tool_calls)
    return [call for call in calls if call.problem is not None or call.tool_name in known]


def _not_made(result: TrialResult) -> int:
    """Count the calls that the model sent and that can be made, but that no Api got."""
    possible = sum(1 for call in _sent_calls(result) if call.problem is None)
    return max(0, possible - len(result.wire.api_calls))


def _answered_turns(result: TrialResult) -> list[ModelCall]:
    return [call for call in result.wire.model_calls if call.cause is None]
