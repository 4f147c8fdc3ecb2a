"""Finds trials that are copies of others: from a cache, or of a file. They say nothing about a side's own spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from statistics import median
from typing import Any

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._samples import Trials

SIDES = ("baseline", "vendor")

Cases = dict[str, list[Sequence[Measures]]]
"""Side -> the trials of each case."""

Found = dict[str, dict[str, Any]]
"""Side -> counts, for the document."""

ALL = 0.98
"""Share of cases whose trials are identical, from which they are all taken to be."""

LONG = 200
"""Characters of an answer that a model hardly writes twice."""

APART = 0.05
"""The difference by which identical trials must be rarer on the vendor's side to speak against the baseline's."""

FEWEST = 30
"""Cases from which on identical texts are evidence."""

CHANCE = 0.001
"""Chance below which it is no accident that one side's answers never vary and the other's do."""

FAST = 0.1
"""Later trials that take less than this share of the first one's time are faster than a model answers."""

SLOW_MS = 100.0
"""Milliseconds that a first trial must take for that comparison."""


def without_copies(sides: Sequence[Trials]) -> tuple[list[Trials], list[str], Found]:
    """Return the trials without copies of others, remarks about the copies, and their counts.

    Trials of a case are copies if they have one response id, which no other case has, or one time of completion, and
    the same text. Where all long answers of a sampled baseline are identical and the vendor's are not, one trial per
    case is left.
    """
    cases: Cases = {side: [pair[place] for pair in sides] for place, side in enumerate(SIDES)}
    found: Found = {}
    remarks = []
    for side, own in cases.items():
        alike, total = _count_identical(own, LONG)
        share, shared = alike / total if total >= FEWEST else None, _shared_ids(own)
        cases[side] = [list(_distinct(trials, shared)) for trials in own]
        before, after = (sum(map(len, trials)) for trials in (own, cases[side]))
        found[side] = {"trials": before, "copies": before - after, "identical_share": share}
        if after < before:
            remarks.append(
                f"{before - after:,} of the {side}'s {before:,} trials are copies of others (the same response id or "
                "time, and the same text), from a cache or a copied file; they were left out"
            )
    remarks += list(_identical_answers(cases, found))
    remarks += [remark for place, side in enumerate(SIDES) for remark in _impossible_times(place, sides, found[side])]
    return list(zip(cases["baseline"], cases["vendor"], strict=True)), remarks, found


def _shared_ids(cases: Sequence[Sequence[Measures]]) -> set[str | None]:
    """Return the response ids that several cases have, or none: they identify nothing."""
    counts = Counter(name for trials in cases for name in {trial.response_id for trial in trials})
    return {None, *(name for name, count in counts.items() if count > 1)}


def _distinct(trials: Sequence[Measures], shared: Collection[str | None]) -> Iterator[Measures]:
    seen: set[tuple[object, ...]] = set()
    for trial in trials:
        keys: set[tuple[object, ...]] = set()
        if trial.response_id not in shared:
            keys.add((trial.response_id, trial.digest))
        if trial.at is not None and trial.answered:
            keys.add((trial.at, trial.duration, trial.digest))
        if seen.isdisjoint(keys):
            yield trial
        seen |= keys


def _count_identical(cases: Sequence[Sequence[Measures]], size: int = 0) -> tuple[int, int]:
    """Return the cases with several sampled answers of this size in which all are identical, and all such cases."""
    sampled = [[trial for trial in trials if trial.answered and trial.sampled] for trials in cases]
    several = [own for own in sampled if len(own) > 1 and median(trial.size for trial in own) >= size]
    return sum(len({trial.digest for trial in own}) == 1 for own in several), len(several)


def _identical_answers(cases: Cases, found: Found) -> Iterator[str]:
    """Yield remarks on sides whose answers never vary; one trial per case is kept of such a baseline.

    Short answers can be alike by themselves, so that they count only where the other side's vary. And a vendor may vary
    more than it should: of a baseline nothing is proved.
    """
    shares = {side: own["identical_share"] for side, own in found.items()}
    copied = {side for side in SIDES if found[side]["copies"]}
    never = [side for side in SIDES if (shares[side] or 0.0) >= ALL and side not in copied]
    for side in never:
        yield (
            f"the {side}'s trials have identical long answers in {100 * shares[side]:.0f} % of the cases, although the "
            "temperature asked for is not 0: a cache, or a temperature that is ignored"
        )
        if side == "baseline" and shares["vendor"] is not None and shares["vendor"] < shares[side] - APART:
            _keep_first_trials(cases, found)
            yield "so one trial per case of the baseline counts, as its own spread is not known"
    if never:
        return
    counts = {side: _count_identical(cases[side]) for side in SIDES}
    for side, other in (SIDES, SIDES[::-1]):
        (alike, total), (others_alike, others) = counts[side], counts[other]
        if min(total, others) < FEWEST or alike < ALL * total or side in copied:
            continue
        if (1 - wilson_interval(1 - others_alike / others, others).low) ** total > CHANCE:
            continue
        found[side]["unvaried_share"] = alike / total
        remark = (
            f"the trials of the {side} are identical word for word in {100 * alike / total:.0f} % of the cases, those "
            f"of the {other} in {100 * others_alike / others:.0f} %, although the temperature asked for is not 0"
        )
        if side == "vendor":
            yield f"{remark}: a cache that gives each answer a new id, or a temperature that is ignored"
            return
        # A cached answer is one draw from the model, so that one per case is a fair one to compare with.
        _keep_first_trials(cases, found)
        yield (
            f"{remark}: a cache before the baseline looks like this. So one trial per case of the baseline counts, as "
            "its own spread is not known; ask it again where no cache can answer"
        )
        return


def _keep_first_trials(cases: Cases, found: Found) -> None:
    cases["baseline"] = [trials[:1] for trials in cases["baseline"]]
    found["baseline"]["voided"] = True


def _impossible_times(place: int, sides: Sequence[Trials], found: dict[str, Any]) -> Iterator[str]:
    timed = [(number, one.duration) for pair in sides for number, one in enumerate(pair[place])]
    known = [(number > 0, duration) for number, duration in timed if duration == duration]
    first, later = ([duration for is_later, duration in known if is_later == side] for side in (False, True))
    if first and later and median(first) >= SLOW_MS and median(later) < FAST * median(first):
        found["later_trials_ms"] = median(later)
        yield (
            f"the {SIDES[place]}'s later trials take {median(later):,.0f} ms, its first ones {median(first):,.0f} ms: "
            "that is faster than a model answers, so they may come from a cache"
        )
