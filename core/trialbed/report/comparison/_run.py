"""Comparisons within one run: each framework with the reference, and each native profile with the controlled one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trialbed.errors import UsageError
from trialbed.records import (
    CONTROLLED,
    NATIVE,
    SETTINGS,
    TrialResult,
    framework_name,
    framework_profile,
    framework_release,
    label_settings,
    meant_labels,
    varied_framework,
)
from trialbed.report.comparison._causes import loss_cause
from trialbed.report.comparison._findings import HEADLINE, ScoreFinding, findings_by_pair
from trialbed.report.comparison._sides import QueryId, Side
from trialbed.store import TrialTable

REFERENCE = "reference"

Kind = Literal["reference", "profile"]
"""The subject of a comparison: the run's baseline, or the controlled profile of the same framework."""


@dataclass(frozen=True)
class RunPair:
    """Two frameworks of a run that are compared.

    Attributes:
        kinds: the reasons why; both where the baseline is the controlled profile itself.
    """

    baseline: Side
    candidate: Side
    kinds: Sequence[Kind]


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
    """The comparisons of each framework of a run.

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
    judged = findings_by_pair([(pair.baseline, pair.candidate) for pair in pairs], margin)
    for pair, scores in zip(pairs, judged, strict=True):
        baseline, candidate = pair.baseline.name, pair.candidate.name
        for kind in pair.kinds:
            lower = {query for finding in scores.values() for query in finding.worse} if kind == "profile" else ()
            causes = _causes(pair.candidate.trials, pair.baseline.trials, lower, results) if lower else {}
            found[candidate].append(FrameworkComparison(kind, baseline, scores, causes))
    return {name: tuple(own) for name, own in found.items()}


def run_pairs(sides: Sequence[Side], against: str | None) -> list[RunPair]:
    """Return the pairs of a run that are compared at once, whichever command asks: each pair once, none that is void.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    by_name = {side.name: side for side in sides}
    kinds: dict[tuple[str, str], list[Kind]] = {}
    baseline = chosen_baseline(list(by_name), against)
    for name in by_name:
        if name != baseline:
            kinds.setdefault((_baseline_of(name, baseline, by_name), name), []).append("reference")
    for pair in _with_controlled(list(by_name)):
        kinds.setdefault(pair, []).append("profile")
    pairs = [RunPair(by_name[one], by_name[other], tuple(own)) for (one, other), own in kinds.items()]
    return [pair for pair in pairs if not (pair.baseline.void or pair.candidate.void)]


def _baseline_of(name: str, baseline: str, names: Collection[str]) -> str:
    """Return the baseline with the settings of a framework that has some of its own; the baseline for itself."""
    alike = f"{varied_framework(baseline)}{SETTINGS}{label_settings(name)}"
    return alike if label_settings(name) and alike != name and alike in names else baseline


def _causes(
    native: TrialTable,
    controlled: TrialTable,
    queries: Collection[QueryId],
    results: Callable[[Sequence[int]], Iterator[TrialResult]],
) -> dict[str, list[QueryId]]:
    """Return the causes of lower scores, the most frequent first: each with its queries."""
    import numpy as np

    others = {pair: place for place, pair in enumerate(controlled.pairs.tolist())}
    pairs, rows = native.pairs.tolist(), list[int]()
    ours, theirs = (
        np.nan_to_num([table.values(name, zeros=False) for name in HEADLINE]) for table in (native, controlled)
    )
    for place in np.argsort(native["row"]).tolist():
        other = others.get(pairs[place])
        asked = native.row(place).query_id in queries
        if asked and other is not None and (ours[:, place] < theirs[:, other]).any():
            rows += [int(native["row"][place]), int(controlled["row"][other])]
    found: dict[str, dict[QueryId, None]] = {}
    read = results(rows)
    for one, other_result in zip(read, read, strict=True):
        found.setdefault(loss_cause(one, other_result), {})[one.key.query_id] = None
    return {cause: list(own) for cause, own in sorted(found.items(), key=lambda item: -len(item[1]))}


def chosen_baseline(frameworks: Sequence[str], against: str | None) -> str:
    """The framework that the others are compared with: as named, or the one whose name alone is meant.

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


def _with_controlled(names: Sequence[str]) -> list[tuple[str, str]]:
    controlled = {_package(name): name for name in names if framework_profile(name) == CONTROLLED}
    native = (name for name in names if framework_profile(name) == NATIVE)
    return [(controlled[_package(name)], name) for name in native if _package(name) in controlled]


def _package(name: str) -> tuple[str, str | None, str]:
    return framework_name(name), framework_release(name), label_settings(name)
