"""Compares arguments by the values that the trials of a case have in common.

A value that hardly repeats, such as the words of a search or a number made up on the spot, would make any two answers
unequal, whatever else their calls say. Such values count as free text: beside the others, not instead of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from trialbed_verify.panel._calls import FREE, Value, made_code, order_of, unpacked_values
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._samples import Trials
from trialbed_verify.panel._signatures import PLACES, signature

REPEATED = 0.2
"""Share of equal pairs of trials below which a value counts as free text."""

FEWEST_TRIALS = 4
"""Trials of both sides together from which on values count as repeating or not."""

THERE = 1
"""Stands for a value that hardly repeats."""

PAIR = Struct("<II")
SIGNATURE = Struct(f"<{PLACES}H")
NOTHING = bytes(SIGNATURE.size)

Packed = list[tuple[int, list[Value]]]


class _Parts(NamedTuple):
    """An answer's arguments in parts, each a signature: values that repeat, free text, and values that do not."""

    exact: bytes
    free: bytes
    fleeting: bytes


def with_settled_arguments(sides: Sequence[Trials]) -> list[Trials]:
    """Return the trials, with arguments and order of calls by the values that repeat.

    All trials of a case together decide which values do, whichever side they are of, so that labels remain
    exchangeable and the distances of identical sides 0 in expectation.
    """
    return [_settle_case(ours, theirs) for ours, theirs in sides]


def _settle_case(ours: Sequence[Measures], theirs: Sequence[Measures]) -> Trials:
    calling = [trial for trial in (*ours, *theirs) if trial.arguments is not None]
    if len({trial.values for trial in calling}) < 2:
        return ours, theirs
    unpacked = {packed: unpacked_values(packed) for packed in {trial.values for trial in calling}}
    fleeting = _fleeting([unpacked[trial.values] for trial in calling])
    if not fleeting and all(trial.free is None for trial in calling):
        return ours, theirs
    parts = [_parts(trial, unpacked[trial.values], fleeting) for trial in calling]
    # Parts that do not vary at all are left out, so that the others count in full.
    varying = [number for number in range(len(_Parts._fields)) if len({part[number] for part in parts}) > 1]
    changed = {
        id(trial): replace(
            trial,
            arguments=_weave([part[number] for number in varying]),
            order=order_of([(_digest(values, fleeting), name) for name, values in unpacked[trial.values]]),
            made=made_code((_outline(values, fleeting), name) for name, values in unpacked[trial.values]),
        )
        for trial, part in zip(calling, parts, strict=True)
    }
    return [changed.get(id(one), one) for one in ours], [changed.get(id(one), one) for one in theirs]


def _fleeting(trials: Sequence[Packed]) -> frozenset[int]:
    """Return the paths whose values hardly repeat, or are free text in some trials only."""
    if len(trials) < FEWEST_TRIALS:
        return frozenset()
    found = [_by_path(calls) for calls in trials]
    paths = {path for values in found for path in values}
    return frozenset(path for path in paths if _is_fleeting([values.get(path, ()) for values in found]))


def _is_fleeting(values: Sequence[tuple[int, ...]]) -> bool:
    counts = Counter(values)
    if len(counts) == 1:
        return False
    free = [FREE in value for value in counts if value]
    if any(free):
        return not all(free)
    equal = sum(count * (count - 1) for count in counts.values())
    return equal < REPEATED * len(values) * (len(values) - 1)


def _by_path(calls: Packed) -> dict[int, tuple[int, ...]]:
    found: dict[int, set[int]] = {}
    for _, values in calls:
        for path, value, _ in values:
            found.setdefault(path, set()).add(value)
    return {path: tuple(sorted(values)) for path, values in found.items()}


def _parts(trial: Measures, calls: Packed, fleeting: Collection[int]) -> _Parts:
    exact = b"".join(sorted({_digest(values, fleeting) for _, values in calls}))
    passing = {f"{path}={value}" for _, values in calls for path, value, _ in values if path in fleeting}
    return _Parts(
        exact=blake2b(exact, digest_size=SIGNATURE.size).digest(),
        free=trial.free or NOTHING,
        fleeting=signature(passing) if passing else NOTHING,
    )


def _digest(values: Sequence[Value], fleeting: Collection[int]) -> bytes:
    kept = b"".join(PAIR.pack(path, value) for path, value, _ in values if path not in fleeting)
    return blake2b(kept, digest_size=8).digest()


def _outline(values: Sequence[Value], fleeting: Collection[int]) -> bytes:
    """Return a digest in which values that hardly repeat count as being there, whatever they are."""
    kept = b"".join(PAIR.pack(path, THERE if path in fleeting else value) for path, value, _ in values)
    return blake2b(kept, digest_size=8).digest()


def _weave(parts: Sequence[bytes]) -> bytes:
    """Return a signature with places of the parts in turn, of the first of three twice; all are equal without parts."""
    if not parts:
        return NOTHING
    unpacked = [SIGNATURE.unpack(part) for part in parts]
    turns = unpacked if len(unpacked) < len(_Parts._fields) else [unpacked[0], unpacked[1], unpacked[0], unpacked[2]]
    return SIGNATURE.pack(*(turns[place % len(turns)][place] for place in range(PLACES)))
