"""Compare the frameworks of one run with the baseline, and each native profile with the controlled one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trialbed.errors import UsageError
from trialbed.records import (
    CONTROLLED,
    NATIVE,
    SETTINGS,
    framework_name,
    framework_profile,
    framework_release,
    label_settings,
    meant_labels,
    varied_framework,
)
from trialbed.report.comparison._findings import ScoreFinding, paired_findings
from trialbed.report.comparison._sides import Side

REFERENCE = "reference"

Kind = Literal["reference", "profile"]
"""Why two frameworks are compared, with the run's baseline, or with the controlled profile of the same framework."""


@dataclass(frozen=True)
class FrameworkComparison:
    """The findings on a framework against another of its run, by score."""

    kind: Kind
    against: str
    scores: Mapping[str, ScoreFinding]


def compare_frameworks(
    sides: Mapping[str, Side], *, against: str | None, margin: float
) -> dict[str, tuple[FrameworkComparison, ...]]:
    """Return the comparisons of a run's frameworks.

    Args:
        sides: framework -> its trials.
        against: the framework that the others are compared with; None for ``reference``, or the first if that is not
            in the run.
        margin: the largest difference of a score that does not matter.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    pairs = run_pairs(list(sides.values()), against)
    judged = paired_findings([(baseline, candidate) for baseline, candidate, _ in pairs], margin)
    found: dict[str, list[FrameworkComparison]] = {name: [] for name in sides}
    for (baseline, candidate, kind), scores in zip(pairs, judged, strict=True):
        found[candidate.name].append(FrameworkComparison(kind, baseline.name, scores))
    return {name: tuple(own) for name, own in found.items()}


def run_pairs(sides: Sequence[Side], against: str | None) -> list[tuple[Side, Side, Kind]]:
    """Return the pairs of a run that are compared together, the same for every command, without void sides.

    Returns:
        Baseline, candidate and why they are compared; each pair once.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    by_name = {side.name: side for side in sides}
    kinds: dict[tuple[str, str], Kind] = {}
    baseline = chosen_baseline(list(by_name), against)
    for name in by_name:
        if name != baseline:
            # The baseline with the settings of a framework that has its own.
            alike = f"{varied_framework(baseline)}{SETTINGS}{label_settings(name)}"
            has_own = label_settings(name) and alike != name and alike in by_name
            kinds[alike if has_own else baseline, name] = "reference"
    packages = {name: (framework_name(name), framework_release(name), label_settings(name)) for name in by_name}
    controlled = {packages[name]: name for name in by_name if framework_profile(name) == CONTROLLED}
    for name in by_name:
        if framework_profile(name) == NATIVE and packages[name] in controlled:
            kinds.setdefault((controlled[packages[name]], name), "profile")
    pairs = [(by_name[one], by_name[other], kind) for (one, other), kind in kinds.items()]
    return [pair for pair in pairs if not (pair[0].void or pair[1].void)]


def chosen_baseline(frameworks: Sequence[str], against: str | None) -> str:
    """Return the framework that the others are compared with, by its label, or by its name if that is unique.

    Raises:
        UsageError: it is not among them, or the name alone means several.
    """
    if against is None:
        return next(iter(meant_labels(REFERENCE, frameworks)), frameworks[0])
    meant = meant_labels(against, frameworks)
    if len({*map(varied_framework, meant)}) == 1:
        return meant[0]
    raise UsageError(f"--against: {against!r} is not one framework of the run: {', '.join(frameworks)}")
