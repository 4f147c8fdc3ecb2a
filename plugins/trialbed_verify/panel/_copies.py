"""Finds trials that are copies of others: from a cache, or of a file. They say nothing about a side's own spread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._samples import Trials

SIDES = ("baseline", "vendor")

Kept = dict[str, list[Sequence[Measures]]]
"""Side -> the trials of each case that count."""

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


@dataclass(frozen=True)
class Copies:
    """The copies among the trials.

    Attributes:
        remarks: for readers, one sentence each.
    """

    remarks: tuple[str, ...]
    found: Found


def without_copies(sides: Sequence[Trials]) -> tuple[list[Trials], Copies]:
    """Return the trials without copies of others, and remarks about the copies.

    Trials of a case are copies if they have one response id, which no other case has, or one time of completion, and
    the same text. Where all long answers of a sampled baseline are identical and the vendor's are not, one trial per
    case is left.
    """
    kept = {side: [pair[place] for pair in sides] for place, side in enumerate(SIDES)}
    identical = {side: _identical_share(kept[side]) for side in SIDES}
    remarks: list[str] = []
    found: Found = {}
    for side in SIDES:
        before = sum(map(len, kept[side]))
        shared = _shared_ids(kept[side])
        kept[side] = [list(_distinct(trials, shared)) for trials in kept[side]]
        copies = before - sum(map(len, kept[side]))
        found[side] = {"trials": before, "copies": copies, "identical_share": identical[side]}
        if copies:
            remarks.append(
                f"{copies:,} of the {side}'s {before:,} trials are copies of others (the same response id or time, and "
                "the same text), from a cache or a copied file; they were left out"
            )
    remarks += list(_identical_long_answers(kept, identical, found)) or list(_unvaried_answers(kept, found))
    remarks += _impossible_times(sides, found)
    return list(zip(kept["baseline"], kept["vendor"], strict=True)), Copies(tuple(remarks), found)


def _shared_ids(cases: Sequence[Sequence[Measures]]) -> set[str]:
    """Return the response ids that several cases have: they identify nothing."""
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
    """Return the share of cases with several long, sampled answers in which all of them are identical."""
    alike = total = 0
    for trials in cases:
        texts = [trial for trial in trials if trial.answered and trial.sampled]
        if len(texts) > 1 and median(trial.size for trial in texts) >= LONG:
            total += 1
            alike += len({trial.digest for trial in texts}) == 1
    return alike / total if total >= FEWEST else None


def _identical_long_answers(kept: Kept, identical: Mapping[str, float | None], found: Found) -> Iterator[str]:
    """Yield remarks on sides whose long answers never vary; one trial per case is kept of such a baseline."""
    for side in SIDES:
        share = identical[side]
        if share is None or share < ALL or found[side]["copies"]:
            continue
        yield (
            f"the {side}'s trials have identical long answers in {100 * share:.0f} % of the cases, although the "
            "temperature asked for is not 0: a cache, or a temperature that is ignored"
        )
        vendor = identical["vendor"]
        if side == "baseline" and vendor is not None and vendor < share - APART:
            _keep_first_trials(kept, found)
            yield "so one trial per case of the baseline counts, as its own spread is not known"


def _unvaried_answers(kept: Kept, found: Found) -> Iterator[str]:
    """Yield a remark on a side whose answers of any length never vary, where the other side's do.

    Short ones can be alike by themselves, and a vendor may vary more than it should: of a baseline nothing is proved.
    """
    counts = {side: _count_unvaried(kept[side]) for side in SIDES}
    for side, other in (SIDES, SIDES[::-1]):
        (alike, total), (others_alike, others) = counts[side], counts[other]
        if min(total, others) < FEWEST or alike < ALL * total or found[side]["copies"]:
            continue
        low, _, _ = wilson_interval(1 - others_alike / others, others)
        if (1 - low) ** total > CHANCE:
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
        _keep_first_trials(kept, found)
        yield (
            f"{remark}: a cache before the baseline looks like this. So one trial per case of the baseline counts, as "
            "its own spread is not known; ask it again where no cache can answer"
        )
        return


def _keep_first_trials(kept: Kept, found: Found) -> None:
    kept["baseline"] = [trials[:1] for trials in kept["baseline"]]
    found["baseline"]["voided"] = True


def _count_unvaried(cases: Sequence[Sequence[Measures]]) -> tuple[int, int]:
    """Return the number of cases with several sampled answers in which all are identical, and of all with several."""
    sampled = [[trial.digest for trial in trials if trial.answered and trial.sampled] for trials in cases]
    several = [digests for digests in sampled if len(digests) > 1]
    return sum(len(set(digests)) == 1 for digests in several), len(several)


def _impossible_times(sides: Sequence[Trials], found: Found) -> Iterator[str]:
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
