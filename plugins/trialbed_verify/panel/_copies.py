"""Finds trials that are copies of others: from a cache, or of a file. They say nothing about a side's own spread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._samples import Trials

SIDES = ("baseline", "vendor")

ALL = 0.98
"""Share of cases whose trials are identical, from which they are all taken to be."""

LONG = 200
"""Characters of an answer that a model hardly writes twice."""

APART = 0.05
"""How much rarer identical trials must be on the vendor's side to speak against the baseline's."""

FEWEST = 30
"""Cases from which identical texts tell something."""

CHANCE = 0.001
"""Chance below which it is no accident that one side's answers never vary and the other's do."""

FAST = 0.1
"""Later trials that take less than this share of the first one's time are faster than a model answers."""

SLOW_MS = 100.0
"""Milliseconds that a first trial must take for that comparison."""


@dataclass(frozen=True)
class Copies:
    """The copies that were found.

    Attributes:
        remarks: for readers, one sentence each.
        found: side -> counts, for the document.
    """

    remarks: tuple[str, ...]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)


def without_copies(sides: Sequence[Trials]) -> tuple[list[Trials], Copies]:
    """The trials without copies of others, and what was found.

    Trials of a case are copies if they have one response id, which no other case has, or one time of completion, and
    the same text. Where all long answers of a sampled baseline are identical and the vendor's are not, one trial per
    case is left.
    """
    kept: list[list[Sequence[Measures]]] = [[ours, theirs] for ours, theirs in sides]
    remarks: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    alike = [_identical_share([pair[place] for pair in kept]) for place in range(2)]
    for place, side in enumerate(SIDES):
        before = sum(len(pair[place]) for pair in kept)
        shared = _shared_ids(pair[place] for pair in kept)
        for pair in kept:
            pair[place] = list(_distinct(pair[place], shared))
        copies = before - sum(len(pair[place]) for pair in kept)
        found[side] = {"trials": before, "copies": copies, "identical_share": alike[place]}
        if copies:
            remarks.append(
                f"{copies:,} of the {side}'s {before:,} trials are copies of others (the same response id or time, and "
                "the same text), from a cache or a copied file; they were left out"
            )
    remarks += _identical(kept, alike, found) or _uniform(kept, found)
    remarks += _impossible_times(sides, found)
    return [(ours, theirs) for ours, theirs in kept], Copies(tuple(remarks), found)


def _shared_ids(cases: Any) -> set[str]:
    """The response ids that several cases have: they identify nothing."""
    seen: dict[str, int] = {}
    shared = set()
    for number, trials in enumerate(cases):
        for trial in trials:
            if trial.response_id is not None and seen.setdefault(trial.response_id, number) != number:
                shared.add(trial.response_id)
    return shared


def _distinct(trials: Sequence[Measures], shared: set[str]) -> Iterator[Measures]:
    seen: set[tuple[object, ...]] = set()
    for trial in trials:
        keys: list[tuple[object, ...]] = []
        if trial.response_id is not None and trial.response_id not in shared:
            keys.append(("id", trial.response_id, trial.digest))
        if trial.at is not None and trial.answered:
            keys.append(("at", trial.at, trial.duration, trial.digest))
        if not any(key in seen for key in keys):
            yield trial
        seen.update(keys)


def _identical_share(cases: Sequence[Sequence[Measures]]) -> float | None:
    """The share of cases with several long, sampled answers in which all of them are identical."""
    alike = total = 0
    for trials in cases:
        texts = [trial for trial in trials if trial.answered and trial.sampled]
        if len(texts) > 1 and median(trial.size for trial in texts) >= LONG:
            total += 1
            alike += len({trial.digest for trial in texts}) == 1
    return alike / total if total >= FEWEST else None


def _identical(
    kept: list[list[Sequence[Measures]]], alike: Sequence[float | None], found: dict[str, dict[str, Any]]
) -> list[str]:
    return list(_identical_remarks(kept, alike, found))


def _identical_remarks(
    kept: list[list[Sequence[Measures]]], alike: Sequence[float | None], found: dict[str, dict[str, Any]]
) -> Iterator[str]:
    for place, side in enumerate(SIDES):
        share = alike[place]
        if share is None or share < ALL or found[side]["copies"]:
            continue
        yield (
            f"the {side}'s trials have identical long answers in {share:.0%} of the cases, although the temperature "
            "asked for is not 0: a cache, or a temperature that is ignored"
        )
        other = alike[1]
        if side == "baseline" and other is not None and other < share - APART:
            for pair in kept:
                pair[0] = pair[0][:1]
            found[side]["voided"] = True
            yield "so one trial per case of the baseline counts, as its own spread is not known"


def _uniform(kept: list[list[Sequence[Measures]]], found: dict[str, dict[str, Any]]) -> list[str]:
    """What answers of any length tell that never vary, where the other side's do.

    Short ones can be alike by themselves, and a vendor may vary more than it should: of a baseline nothing is proved.
    """
    counts = [_unvaried([pair[place] for pair in kept]) for place in range(2)]
    for place, other in ((0, 1), (1, 0)):
        (alike, total), (others_alike, others) = counts[place], counts[other]
        if min(total, others) < FEWEST or alike < ALL * total or found[SIDES[place]]["copies"]:
            continue
        low, _, _ = wilson_interval(1 - others_alike / others, others)
        if (1 - low) ** total > CHANCE:
            continue
        found[SIDES[place]]["unvaried_share"] = alike / total
        said = (
            f"the trials of the {SIDES[place]} are identical word for word in {alike / total:.0%} of the cases, those "
            f"of the {SIDES[other]} in {others_alike / others:.0%}, although the temperature asked for is not 0"
        )
        if place == 1:
            return [f"{said}: a cache that gives each answer a new id, or a temperature that is ignored"]
        # A cached answer is one draw of what the model says, so that one per case is compared with as a fair one.
        for pair in kept:
            pair[0] = pair[0][:1]
        found[SIDES[place]]["voided"] = True
        return [
            f"{said}: a cache before the baseline looks like this. So one trial per case of the baseline counts, as "
            "its own spread is not known; ask it again where no cache can answer"
        ]
    return []


def _unvaried(cases: Sequence[Sequence[Measures]]) -> tuple[int, int]:
    """The cases with several sampled answers in which all are identical, and all cases with several."""
    several = [
        [trial.digest for trial in trials if trial.answered and trial.sampled] for trials in cases if len(trials) > 1
    ]
    several = [digests for digests in several if len(digests) > 1]
    return sum(len(set(digests)) == 1 for digests in several), len(several)


def _impossible_times(sides: Sequence[Trials], found: dict[str, dict[str, Any]]) -> Iterator[str]:
    for place, side in enumerate(SIDES):
        times: dict[int, list[float]] = defaultdict(list)
        for pair in sides:
            for number, trial in enumerate(pair[place]):
                if trial.duration == trial.duration:
                    times[number].append(trial.duration)
        if len(times) < 2 or not times[0]:
            continue
        first, later = median(times[0]), median(one for number, own in times.items() if number for one in own)
        if first >= SLOW_MS and later < FAST * first:
            found[side]["later_trials_ms"] = later
            yield (
                f"the {side}'s later trials take {later:,.0f} ms, its first ones {first:,.0f} ms: that is faster than "
                "a model answers, so they may come from a cache"
            )
