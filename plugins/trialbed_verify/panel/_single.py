"""Compares sides that have one trial of most cases, by traits of their answers.

One trial does not show how far a side is from itself, so the distance of two answers means nothing. But a vendor of the
same model has a trait that the baseline lacks as often as the other way round.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from trialbed.statistics import mcnemar
from trialbed_verify.panel._calls import unpacked_values
from trialbed_verify.panel._distances import Array, Distances
from trialbed_verify.panel._measures import CALL, Measures
from trialbed_verify.panel._samples import ALONE, Samples

LEAST = 6
"""Cases that must differ in a trait for it to count: fewer show nothing at 5 %."""

SHOWN_BY = {
    "decision": ("decisions", "cases call"),
    "tools": ("called tools", "cases call one of the tools"),
    "arguments": ("arguments", "cases have one of the values"),
}
"""Gate that is tested -> its subject, and what cases do that have a trait."""


def with_traits(gate: str, samples: Samples, found: Distances) -> Distances:
    """Return a gate's figures with the traits in which the sides' only trials of a case differ."""
    alone = np.flatnonzero(found.single == ALONE)
    pairs = {}
    for case, place in zip(alone.tolist(), np.searchsorted(samples.case, alone).tolist(), strict=True):
        own, other = samples.trials[place : place + 2]
        if (sides := _traits(gate, own, other)) is not None:
            pairs[case] = sides
    counts = Counter(trait for own, other in pairs.values() for trait in own ^ other)
    chosen = [trait for trait, count in counts.items() if count >= LEAST]
    differing = np.full(len(found.excess), np.nan)
    traits = np.full((2, len(found.excess), len(chosen)), np.nan)
    for case, sides in pairs.items():
        differing[case] = sides[0] != sides[1]
        traits[:, case] = [[trait in own for trait in chosen] for own in sides]
    return replace(found, traits=traits, differing=differing)


def most_telling(found: Distances, traits: Array) -> tuple[Distances, float]:
    """Return the figures of the most telling trait, and McNemar's p-value, corrected for all traits."""
    own, other = traits
    down, up = ((one > two).sum(axis=0).tolist() for one, two in ((own, other), (other, own)))
    ps = [(mcnemar(*pair), place) for place, pair in enumerate(zip(down, up, strict=True)) if sum(pair) >= LEAST]
    p, place = min(ps, default=(1.0, -1))
    nothing = np.where(np.isfinite(found.differing), 0.0, np.nan)
    ours, theirs = (nothing, nothing) if place < 0 else (own[:, place], other[:, place])
    told = replace(found, own=ours, cross=theirs, excess=theirs - ours, distance=np.full(len(ours), np.nan))
    return told, min(1.0, p * max(1, len(ps)))


def _traits(gate: str, *sides: Measures) -> list[set[Any]] | None:
    """Return the traits of both answers; None if they cannot be compared."""
    if gate == "decision":
        return [{one.decision} & {CALL} for one in sides]
    calls = [unpacked_values(one.values) for one in sides]
    names = [{name for name, _ in own} for own in calls]
    common = names[0] & names[1]
    if gate == "tools":
        return names
    return [_values(own, common) for own in calls] if common else None


def _values(calls: Any, names: set[int]) -> set[Any]:
    """Return the arguments that are given, their values, and which of these stand in the request."""
    found = [(name, *value) for name, values in calls if name in names for value in values]
    given = {(name, path) for name, path, *_ in found}
    quoted = {(name, path, "quoted") for name, path, _, is_quoted in found if is_quoted}
    return given | quoted | {(name, path, value) for name, path, value, _ in found}
