"""Prepare the trials of both sides for their comparison, case by case.

* Copies of other trials, from a cache or a file, do not show a side's own spread. They are left out.
* A value of an argument that hardly repeats, such as the words of a search or a random number, would make any two
  answers unequal. It counts as free text, in addition to the other values.
* The prompt tokens of a request are a number, not a distribution. A vendor that serves the same model with the same
  chat template counts as many as the baseline, one with another template a constant more or less, and a vendor with
  counts proportional to the baseline's charges more for the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from statistics import median, multimode
from struct import Struct
from typing import Any

import numpy as np

from trialbed.statistics import wilson_interval
from trialbed_verify.panel._answers import FREE, NOTHING, OUTPUT_PRICE, PLACES, Calls, Measures, code, signature

SIDES = ("baseline", "vendor")

Trials = tuple[Sequence[Measures], Sequence[Measures]]
"""The baseline's and the vendor's trials of a case."""

Cases = dict[str, list[Sequence[Measures]]]
"""Side -> the trials of each case."""

ALL = 0.98
"""A side counts as constant if this share of cases has identical trials."""

LONG = 200
"""Characters from which answers hardly repeat by chance."""

FEWEST = 30
"""Cases needed for identical texts to be evidence."""

CHANCE = 0.001
"""Probability below which it is not chance that one side's answers never vary and the other's do."""

REPEATED = 0.2
"""Share of equal pairs of trials below which a value counts as free text."""

FEWEST_TRIALS = 4
"""Trials of both sides needed to decide whether values repeat."""

THERE = 1
"""Stands for a value that hardly repeats."""

PAIR = Struct("<II")

USUAL = 0.5
"""Share of cases with the same difference of counts for a template to be the cause."""

ALTHOUGH = "although the temperature asked for is not 0: a cache, or a temperature that is ignored"
ONE_COUNTS = "so one trial per case of the baseline counts, as its own spread is not known: ask again without a cache"


def prepare_trials(sides: Sequence[Trials], ignored: int = 0) -> tuple[list[Trials], list[str]]:
    """Return the trials that count, and remarks on the others and on the tokens.

    A constant that a template adds is subtracted from the vendor's prompt tokens. The cost of an answer becomes a share
    of the baseline's mean cost over the cases with a cost on both sides. ``ignored`` are violations, as bits.
    """
    kept, remarks = _without_copies(sides)
    offset, of_tokens = _prompt_offset(kept)
    costs = [[_known_mean(one.cost for one in side) for side in pair] for pair in kept]
    known = [ours for ours, theirs in costs if not math.isnan(ours + theirs)]
    whole = float(np.mean(known)) if sum(known) > 0 else 1.0

    def prepared(trial: Measures, offset: int) -> Measures:
        # A count of 0 stands for one that is not known.
        prompt = (trial.prompt - offset or -1) if trial.prompt else 0
        violations, found = trial.violations & ~ignored, calls.get(id(trial), {})
        return trial._replace(prompt=prompt, cost=trial.cost / whole, violations=violations, **found)

    found: list[Trials] = []
    for ours, theirs in kept:
        calls = _call_measures([*ours, *theirs])
        found.append(([prepared(trial, 0) for trial in ours], [prepared(trial, offset) for trial in theirs]))
    return found, remarks + of_tokens


def _without_copies(sides: Sequence[Trials]) -> tuple[list[Trials], list[str]]:
    """Return the trials without copies of others, and remarks about the copies.

    Trials of a case are copies if they have one response id, which no other case has, or one time of completion, and
    the same text.
    """
    cases: Cases = {side: [pair[place] for pair in sides] for place, side in enumerate(SIDES)}
    remarks, copied = list[str](), set[str]()
    for side, own in cases.items():
        ids = Counter(name for trials in own for name in {trial.response_id for trial in trials})
        cases[side] = [list(_distinct(trials, ids)) for trials in own]
        before, after = (sum(map(len, trials)) for trials in (own, cases[side]))
        if after < before:
            copied.add(side)
            copies = "copies of others (the same response id or time, and text), from a cache or a file"
            remarks.append(f"{before - after:,} of the {side}'s {before:,} trials are {copies}; they do not count")
    remarks += _identical_answers(cases, copied)
    return list(zip(cases["baseline"], cases["vendor"], strict=True)), remarks


def _distinct(trials: Sequence[Measures], ids: Mapping[str | None, int]) -> Iterator[Measures]:
    """Yield trials without copies; an id that several cases share is ignored."""
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
    """Return the number of cases with several sampled answers of this size, all identical, and of all such cases."""
    sampled = [[trial for trial in trials if trial.answered and trial.sampled] for trials in cases]
    several = [own for own in sampled if len(own) > 1 and median(trial.size for trial in own) >= size]
    return sum(len({trial.digest for trial in own}) == 1 for own in several), len(several)


def _identical_answers(cases: Cases, copied: Collection[str]) -> Iterator[str]:
    """Yield remarks on sides with constant answers, and keep one trial per case of such a baseline.

    Short answers may be identical by chance, so they count only if the other side's vary. The vendor may also vary more
    than it should, so this proves nothing about a baseline. A cached answer is one draw from the model, so comparing
    one per case is fair.
    """
    counts = {side: _count_identical(own) for side, own in cases.items()}
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        if side in copied:
            continue
        (alike, total), (others_alike, others) = counts[side], counts[other]
        long_alike, long = _count_identical(cases[side], LONG)
        is_known = min(total, others) >= FEWEST and alike >= ALL * total
        if is_known and (1 - wilson_interval(1 - others_alike / others, others).low) ** total <= CHANCE:
            shares = [f"{100 * share:.0f} %" for share in (alike / total, others_alike / others)]
            identical = f"the trials of the {side} are identical word for word in {shares[0]} of the cases"
            yield f"{identical}, those of the {other} in {shares[1]}, {ALTHOUGH}"
            if side == "baseline":
                cases[side] = [trials[:1] for trials in cases[side]]
                yield ONE_COUNTS
        elif long >= FEWEST and long_alike >= ALL * long:
            identical = f"the {side}'s trials have identical long answers in {100 * long_alike / long:.0f} %"
            yield f"{identical} of the cases, {ALTHOUGH}"


def _call_measures(trials: Sequence[Measures]) -> dict[int, dict[str, Any]]:
    """Return, by the id of each trial, the arguments, order and category of calls, based on values that repeat.

    All trials of a case, from both sides, decide together which values repeat. This keeps labels exchangeable and the
    expected distance of identical sides 0.
    """
    calling = [trial for trial in trials if trial.calls]
    fleeting = _fleeting([trial.calls for trial in calling])
    keys = [[(name, _digest(values, fleeting)) for name, values in trial.calls] for trial in calling]
    # Calls that not all answers make are ordered by their names, and those of tools that not all call come first:
    # other arguments and tools are no other order.
    known = [{*own, *((name, b"") for name, _ in own)} for own in keys]
    shared = set[tuple[int, bytes]]().union(*known).intersection(*known)
    found, parts = dict[int, dict[str, Any]](), list[tuple[bytes, bytes, bytes]]()
    for trial, own in zip(calling, keys, strict=True):
        ranked = [next((key for key in (key, (key[0], b"")) if key in shared), (0, b"")) for key in own]
        places = {key: str(place) for place, key in enumerate(sorted(set(ranked)))}
        made = sorted(f"{_digest(values, fleeting, THERE).hex()} {name}" for name, values in trial.calls)
        order = f"{len(ranked)}:{','.join(places[key] for key in ranked)}"
        found[id(trial)] = {"order": code(order), "made": code("\n".join(made))}
        # Signatures of the values that repeat, of free text, and of the others.
        exact = blake2b(b"".join(sorted({digest for _, digest in own})), digest_size=len(NOTHING)).digest()
        listed = (value for _, values in trial.calls for value in values)
        others = {f"{path}={value}" for path, value, _ in listed if path in fleeting}
        parts.append((exact, trial.free, signature(others)))
    # Constant parts are left out to give the others their full weight.
    columns = list(zip(*parts, strict=True))
    varying = [own for own in columns if len(set(own)) > 1] or columns[:1]
    # Places of all parts in turn, of the first of three twice.
    turns = (0, 1, 0, 2) if len(varying) > 2 else range(len(varying))
    for number, trial in enumerate(calling):
        woven = (varying[turns[place % len(turns)]][number][2 * place : 2 * place + 2] for place in range(PLACES))
        found[id(trial)]["arguments"] = b"".join(woven)
    return found


def _fleeting(trials: Sequence[Calls]) -> set[int]:
    """Return the paths whose values hardly repeat, or are free text in some trials only."""
    found: dict[int, list[set[int]]] = defaultdict(lambda: [set() for _ in trials])
    for place, calls in enumerate(trials if len(trials) >= FEWEST_TRIALS else ()):
        for path, value, _ in (one for _, values in calls for one in values):
            found[path][place].add(value)
    return {path for path, values in found.items() if _is_fleeting(values)}


def _is_fleeting(values: Sequence[set[int]]) -> bool:
    counts = Counter(map(frozenset, values))
    free = [FREE in value for value in counts if value]
    if len(counts) == 1 or any(free):
        return len(counts) > 1 and not all(free)
    equal = sum(count * (count - 1) for count in counts.values())
    return equal < REPEATED * len(values) * (len(values) - 1)


def _digest(values: Iterable[tuple[int, int, int]], fleeting: Collection[int], stand_in: int | None = None) -> bytes:
    """Return a digest of values; values that hardly repeat are skipped or replaced by ``stand_in``."""
    pairs = ((path, stand_in if path in fleeting else value) for path, value, _ in values)
    return blake2b(b"".join(PAIR.pack(*pair) for pair in pairs if pair[1] is not None), digest_size=8).digest()


def _prompt_offset(sides: Sequence[Trials]) -> tuple[int, list[str]]:
    """Return the usual constant difference of prompt tokens (0 without one), and a sentence if counts differ."""
    counts = [(usual, other) for ours, theirs in sides if (usual := _usual(ours)) and (other := _usual(theirs))]
    if not counts:
        return 0, []
    ((offset, cases),) = Counter(other - usual for usual, other in counts).most_common(1)
    if cases >= USUAL * len(counts):
        more = f"{abs(offset):,} {'more' if offset > 0 else 'fewer'} prompt tokens than the baseline"
        remark = f"the vendor counts {more} in {100 * cases / len(counts):.0f} % of the requests, whatever their length"
        return offset, [f"{remark}: another chat template, or its own system prompt"] if offset else []
    factor = f"{median(other / usual for usual, other in counts):.3f} times the baseline's prompt tokens"
    return 0, [f"the vendor counts {factor} for the same requests (the median), which no chat template explains"]


def _usual(trials: Sequence[Measures]) -> int:
    """Return the count that most trials have, the largest of several; 0 if none has one."""
    return max(multimode(trial.prompt for trial in trials if trial.prompt), default=0)


def price_ratio(sides: Sequence[Trials], prices: Sequence[Mapping[str, float]]) -> float | None:
    """Return the vendor's price of an answer as a share of the baseline's; None if prices or tokens are not known."""
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
