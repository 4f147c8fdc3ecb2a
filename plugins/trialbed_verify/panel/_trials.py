"""Prepares the trials of both sides for their comparison, case by case.

* Trials that are copies of others, from a cache or of a file, say nothing about a side's own spread. They are left out.
* A value of an argument that hardly repeats, such as the words of a search or a number made up on the spot, would make
  any two answers unequal, whatever else their calls say. It counts as free text: next to the others, not instead.
* The prompt tokens of a request are a number, not a distribution. A vendor that serves the same model with the same
  chat template counts as many as the baseline, one with another template a constant more or less, and a vendor whose
  counts are a multiple of the baseline's charges more for the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from statistics import median
from struct import Struct
from typing import Any

import numpy as np

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._calls import FREE, Calls, made_code, order_of
from trialbed_verify.panel._measures import OUTPUT_PRICE, Measures
from trialbed_verify.panel._texts import PLACES, signature

SIDES = ("baseline", "vendor")

Trials = tuple[Sequence[Measures], Sequence[Measures]]
"""The baseline's and the vendor's trials of a case."""

Cases = dict[str, list[Sequence[Measures]]]
"""Side -> the trials of each case."""

Found = dict[str, dict[str, Any]]
"""Side -> counts of copies, for the document."""

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

FAST, SLOW_MS = 0.1, 100.0
"""Later trials that take less than this share of the first one's time are faster than a model answers, if that one
takes these milliseconds."""

REPEATED = 0.2
"""Share of equal pairs of trials below which a value counts as free text."""

FEWEST_TRIALS = 4
"""Trials of both sides together from which on values count as repeating or not."""

THERE = 1
"""Stands for a value that hardly repeats."""

PAIR, SIGNATURE = Struct("<II"), Struct(f"<{PLACES}H")

USUAL = 0.5
"""Share of the cases in which the counts must differ by one number, for that number to be a template's."""

STEADY = 0.01
"""Half of the ratios of counts lie closer together than this, where they are one factor and the rounding of it."""


def prepare_trials(sides: Sequence[Trials], ignored: int = 0) -> tuple[list[Trials], list[str], Found]:
    """Return the trials that count, remarks on the others and on the tokens, and the counts of copies.

    The vendor's prompt tokens are less a constant that a template adds. The cost of an answer becomes a share of the
    baseline's mean cost, over the cases in which both sides have one.

    Args:
        ignored: violations that do not count, as bits.
    """
    kept, remarks, copies = _without_copies(sides)
    offset, remark = _prompt_offset(kept)
    whole = _mean_cost(kept)

    def prepared(trial: Measures, offset: int, changes: Mapping[int, Mapping[str, Any]]) -> Measures:
        # A count of 0 stands for one that is not known.
        prompt = (trial.prompt - offset or -1) if trial.prompt else 0
        violations = trial.violations & ~ignored
        found = changes.get(id(trial), {})
        return trial._replace(prompt=prompt, cost=trial.cost / whole, violations=violations, **found)

    found: list[Trials] = []
    for ours, theirs in kept:
        changes = _call_measures([*ours, *theirs])
        found.append(([prepared(one, 0, changes) for one in ours], [prepared(one, offset, changes) for one in theirs]))
    return found, remarks + remark, copies


def _without_copies(sides: Sequence[Trials]) -> tuple[list[Trials], list[str], Found]:
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
        ids = Counter(name for trials in own for name in {trial.response_id for trial in trials})
        cases[side] = [list(_distinct(trials, ids)) for trials in own]
        before, after = (sum(map(len, trials)) for trials in (own, cases[side]))
        share = alike / total if total >= FEWEST else None
        found[side] = {"trials": before, "copies": before - after, "identical_share": share}
        if after < before:
            remarks.append(
                f"{before - after:,} of the {side}'s {before:,} trials are copies of others (the same response id or "
                "time, and the same text), from a cache or a copied file; they were left out"
            )
    remarks += _identical_answers(cases, found)
    for place, side in enumerate(SIDES):
        remarks += _impossible_times([pair[place] for pair in sides], side, found[side])
    return list(zip(cases["baseline"], cases["vendor"], strict=True)), remarks, found


def _distinct(trials: Sequence[Measures], ids: Mapping[str | None, int]) -> Iterator[Measures]:
    """Yield trials that are no copies; an id that several cases have identifies nothing."""
    seen: set[tuple[object, ...]] = set()
    for trial in trials:
        keys: set[tuple[object, ...]] = set()
        if trial.response_id is not None and ids[trial.response_id] == 1:
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
    shares = {side: found[side]["identical_share"] for side in SIDES}
    usable = [side for side in SIDES if not found[side]["copies"]]
    never = [side for side in usable if (shares[side] or 0.0) >= ALL]
    for side in never:
        yield (
            f"the {side}'s trials have identical long answers in {100 * shares[side]:.0f} % of the cases, although the "
            "temperature asked for is not 0: a cache, or a temperature that is ignored"
        )
    if "baseline" in never and shares["vendor"] is not None and shares["vendor"] < shares["baseline"] - APART:
        _keep_first_trials(cases, found)
        yield "so one trial per case of the baseline counts, as its own spread is not known"
    counts = {side: _count_identical(own) for side, own in cases.items()}
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        (alike, total), (others_alike, others) = counts[side], counts[other]
        if never or side not in usable or min(total, others) < FEWEST or alike < ALL * total:
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


def _impossible_times(cases: Sequence[Sequence[Measures]], side: str, found: dict[str, Any]) -> Iterator[str]:
    first, later = (
        [one.duration for trials in cases for one in trials[part] if not math.isnan(one.duration)]
        for part in (slice(1), slice(1, None))
    )
    if first and later and median(first) >= SLOW_MS and median(later) < FAST * median(first):
        found["later_trials_ms"] = median(later)
        yield (
            f"the {side}'s later trials take {median(later):,.0f} ms, its first ones {median(first):,.0f} ms: "
            "that is faster than a model answers, so they may come from a cache"
        )


def _call_measures(trials: Sequence[Measures]) -> dict[int, dict[str, Any]]:
    """Return the arguments, the order and the category of calls by the values that repeat, by the id of each trial.

    All trials of a case together decide which values do, whichever side they are of, so that labels remain
    exchangeable and the distances of identical sides 0 in expectation.
    """
    calling = [trial for trial in trials if trial.calls]
    fleeting = _fleeting([trial.calls for trial in calling])
    parts = list(zip(*(_parts(trial, fleeting) for trial in calling), strict=True))
    # Parts that do not vary at all are left out, so that the others count in full.
    varying = [own for own in parts if len(set(own)) > 1] or parts[:1]
    return {
        id(trial): {
            "arguments": _weave([own[place] for own in varying]),
            "order": order_of([(_digest(values, fleeting), name) for name, values in trial.calls]),
            "made": made_code((_digest(values, fleeting, THERE), name) for name, values in trial.calls),
        }
        for place, trial in enumerate(calling)
    }


def _fleeting(trials: Sequence[Calls]) -> set[int]:
    """Return the paths whose values hardly repeat, or are free text in some trials only."""
    found: dict[int, list[set[int]]] = defaultdict(lambda: [set() for _ in trials])
    for place, calls in enumerate(trials):
        for path, value, _ in (one for _, values in calls for one in values):
            found[path][place].add(value)
    return {path for path, values in found.items() if _is_fleeting(values)}


def _is_fleeting(values: Sequence[set[int]]) -> bool:
    counts = Counter(map(frozenset, values))
    if len(values) < FEWEST_TRIALS or len(counts) == 1:
        return False
    free = [FREE in value for value in counts if value]
    if any(free):
        return not all(free)
    equal = sum(count * (count - 1) for count in counts.values())
    return equal < REPEATED * len(values) * (len(values) - 1)


def _parts(trial: Measures, fleeting: Collection[int]) -> tuple[bytes, bytes, bytes]:
    """Return an answer's arguments in parts: the signatures of values that repeat, of free text, and of the others."""
    exact = b"".join(sorted({_digest(values, fleeting) for _, values in trial.calls}))
    passing = {f"{path}={value}" for _, values in trial.calls for path, value, _ in values if path in fleeting}
    return blake2b(exact, digest_size=SIGNATURE.size).digest(), trial.free, signature(passing)


def _digest(values: Iterable[tuple[int, int, int]], fleeting: Collection[int], stand_in: int | None = None) -> bytes:
    """Return a digest of values; those that hardly repeat are left out, or something else stands for each."""
    pairs = ((path, stand_in if path in fleeting else value) for path, value, _ in values)
    return blake2b(b"".join(PAIR.pack(*pair) for pair in pairs if pair[1] is not None), digest_size=8).digest()


def _weave(parts: Sequence[bytes]) -> bytes:
    """Return a signature with places of the parts in turn, of the first of three twice."""
    turns = [SIGNATURE.unpack(part) for part in parts]
    turns = [turns[0], turns[1], turns[0], turns[2]] if len(turns) > 2 else turns
    return SIGNATURE.pack(*(turns[place % len(turns)][place] for place in range(PLACES)))


def _prompt_offset(sides: Sequence[Trials]) -> tuple[int, list[str]]:
    """Return the constant by which most of the vendor's prompt tokens differ, and a sentence if any differ."""
    counts = [(usual, other) for ours, theirs in sides if (usual := _usual(ours)) and (other := _usual(theirs))]
    if not counts:
        return 0, []
    ((offset, cases),) = Counter(other - usual for usual, other in counts).most_common(1)
    if cases >= USUAL * len(counts):
        more = f"{abs(offset):,} {'more' if offset > 0 else 'fewer'}"
        remark = (
            f"the vendor counts {more} prompt tokens than the baseline in {100 * cases / len(counts):.0f} % of the "
            "requests, whatever their length: another chat template, or a system prompt of its own"
        )
        return offset, [remark] if offset else []
    low, factor, high = np.quantile([other / usual for usual, other in counts], (0.25, 0.5, 0.75))
    if high - low < STEADY:
        remark = (
            f"the vendor counts {factor:.3f} times the baseline's prompt tokens for the same requests: a factor on the "
            "bill, which no chat template explains"
        )
    else:
        remark = (
            "the vendor counts other prompt tokens than the baseline for the same requests, neither a constant more "
            f"nor a multiple; the median is {factor:.3f} times as many"
        )
    return 0, [remark]


def _usual(trials: Sequence[Measures]) -> int:
    """Return the count that most trials have; 0 if none has one."""
    counts = Counter(trial.prompt for trial in trials if trial.prompt)
    return max(counts, key=lambda count: (counts[count], count), default=0)


def _mean_cost(sides: Sequence[Trials]) -> float:
    costs = [[_known_mean(one.cost for one in side) for side in pair] for pair in sides]
    means = [ours for ours, theirs in costs if not math.isnan(ours + theirs)]
    return float(np.mean(means)) if sum(means) > 0 else 1.0


def price_ratio(sides: Sequence[Trials], prices: Sequence[Mapping[str, float]]) -> float | None:
    """Return the vendor's price of an answer as a share of the baseline's; None if prices or tokens are not known.

    Args:
        prices: of the baseline and of the vendor: ``input`` and ``output``, per million tokens.
    """
    if not all(prices):
        return None
    means = np.array([list(map(_price, pair, prices)) for pair in sides]).reshape(-1, 2)
    baseline, vendor = means[np.isfinite(means).all(axis=1)].sum(axis=0).tolist()
    return vendor / baseline if baseline else None


def _price(trials: Sequence[Measures], prices: Mapping[str, float]) -> float:
    asked, answered = (prices.get(name, 0.0) for name in ("input", "output"))
    return _known_mean(asked * one.prompt + answered * (one.cost - one.prompt) / OUTPUT_PRICE for one in trials)


def _known_mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
