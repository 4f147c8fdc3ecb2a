"""Compares vendors with a baseline: functions over the paired cases of two tables, whose result is a JSON document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import (
    RESAMPLES,
    CaseBootstrap,
    Estimate,
    Interval,
    clustered_interval,
    holm,
    paired_test,
    quantile,
    wilson_interval,
)
from trialbed_verify.documents import as_document
from trialbed_verify.panel import BITS, Conclusion, GateResult, Panel, PanelOptions, judge, resample_verdict
from trialbed_verify.summary import QUANTILES, by_frequency
from trialbed_verify.table import ANSWERS, SIDES, AnswerRow, Answers, Pair, Pairing, Trials, pair

Column = NDArray[Any]
"""One value per case."""

DECISIONS = (*ANSWERS, "none")
SERVED = ("model", "system_fingerprint", "provider")

FIGURES = ("total_tokens", "completion_tokens", "ttft_ms", "tps", "duration_ms")

OTHER_MODELS = "the requests ask for other models"

AMOUNTS = ("total_tokens", "ttft_ms", "tps")
"""Figures that are tested, and of which no case is won or lost."""


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison of vendors.

    Attributes:
        resamples: number of bootstrap resamples.
        force: compare the common cases of files that differ.
        gate_margins: gate of the panel -> its margin, where it is not the usual one.
    """

    resamples: int = RESAMPLES
    force: bool = False
    gate_margins: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class VendorComparison:
    """The comparison of one vendor with the baseline: its JSON document, and the verdict behind it."""

    document: dict[str, Any]
    panel: Panel

    @property
    def vendor(self) -> str:
        """Return the name of the vendor."""
        return str(self.document["vendor"]["vendor"])

    @property
    def baseline(self) -> str:
        """Return the name of the baseline."""
        return str(self.document["baseline"]["vendor"])

    def as_json(self) -> dict[str, Any]:
        """Return the document, with the K2-style keys and Trialbed's own."""
        return self.document


def compare(
    baseline: Answers, vendors: Iterable[Answers], options: CompareOptions | None = None
) -> list[VendorComparison]:
    """Compare each vendor with the baseline.

    p-values are corrected for all vendors and metrics together.

    Args:
        vendors: each is read when the one before is done with, if they are read as they are iterated over.

    Raises:
        UsageError: the requests or settings of two files differ and ``force`` is not set.
    """
    chosen = options or CompareOptions()
    found: list[VendorComparison] = []
    for vendor in vendors:
        found.append(_compare(pair(baseline, vendor, force=chosen.force), chosen))
        # Before the next one is read.
        del vendor
    tests = {(number, test["metric"]): test for number, one in enumerate(found) for test in one.document["tests"]}
    for key, p in holm({key: test["p"] for key, test in tests.items()}).items():
        tests[key]["p_holm"] = p
    return found


def _compare(pairing: Pairing, options: CompareOptions) -> VendorComparison:
    sides = baseline, vendor = tuple(SideRows.of([getattr(one, side) for one in pairing.pairs]) for side in SIDES)
    bootstrap = CaseBootstrap(baseline.cases, options.resamples)
    scopes = {"answered": False, "delivered": True}
    agreements = {scope: agreement(baseline, vendor, delivered=delivered) for scope, delivered in scopes.items()}
    itself = consistency(baseline, bootstrap)
    stable = self_agreement(baseline)[1]
    chosen = PanelOptions(options.gate_margins, prices=pairing.prices)
    tables = {"baseline": pairing.baseline, "vendor": pairing.vendor}
    document: dict[str, Any] = k2_figures(pairing)
    for side, own in tables.items():
        document[side] = {"file": str(own.source), "vendor": own.vendor, "model": own.model, "rows": len(own.rows)}
    document["panel"] = panel = judge_pairs(pairing.pairs, chosen)
    document["pairing"] = {"by": "case" if pairing.by_name else "request", "cases": baseline.cases}
    for name in ("only_baseline", "only_vendor", "asked_otherwise"):
        document["pairing"][name] = len(getattr(pairing, name))
    document["pairing"] |= {"settings": pairing.settings, "forced": options.force}
    document["similarity"] = {scope: similarity(found, bootstrap) for scope, found in agreements.items()}
    document["self_consistency"] = {"baseline": itself, "vendor": consistency(vendor, bootstrap)}
    subset = {scope: similarity(found * stable, bootstrap) for scope, found in agreements.items()} if itself else None
    document |= {"stable_subset": subset, "decisions": _decisions(pairing.pairs)}
    for name, figure in OF_EACH_SIDE.items():
        document[name] = {side: figure(own) for side, own in zip(SIDES, sides, strict=True)}
    document["figures"] = {figure: _figure(figure, baseline, vendor, bootstrap) for figure in FIGURES}
    document["tests"] = list(_tests(baseline, vendor))
    document["served"] = {side: _served(own) for side, own in zip(SIDES, sides, strict=True)}
    document |= {"options": options, "notes": [note for own in tables.values() for note in own.notes]}
    return VendorComparison(as_document(document), panel)


def judge_pairs(pairs: Sequence[Pair], chosen: PanelOptions) -> Panel:
    """Return the panel's verdict on the vendor of some pairs.

    If the sides ask for other models, the verdict says so first, and the gate ``model`` does not apply.
    """
    asked = [{row.asked_model for one in pairs for row in one[side].values() if row.asked_model} for side in (0, 1)]
    sides = _measures(pairs)
    if not all(asked) or _are_alike(*asked):
        return judge(sides, chosen)
    words = f"{OTHER_MODELS} ({', '.join(name for names in asked for name in sorted(names))})"
    judged = [
        tuple([replace(row, violations=row.violations & ~BITS["model"]) for row in rows] for rows in one)
        for one in sides
    ]
    found = judge([(ours, theirs) for ours, theirs in judged], chosen)
    gates = (GateResult(one.gate, "not applicable", words) if one.gate.name == "model" else one for one in found.gates)
    return replace(found, gates=tuple(gates), reason=f"{words}; {found.reason}")


def _are_alike(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Return whether any name of one side can stand for the model of a name of the other."""
    from trialbed_verify.findings import same_model

    return any(same_model(one, other) for one, other in product(ours, theirs))


def verdict_shares(
    baseline: Answers, vendor: Answers, sizes: Sequence[int]
) -> tuple[int, Mapping[int, Mapping[Conclusion, float]]]:
    """Return the cases that both have and, for numbers of cases drawn from them, the share of each verdict.

    Raises:
        UsageError: the requests or settings of the two differ.
    """
    pairs = pair(baseline, vendor).pairs
    return len(pairs), resample_verdict(_measures(pairs), sizes)


def _measures(pairs: Sequence[Pair]) -> list[tuple[list[Any], list[Any]]]:
    return [
        ([row.measured for row in one.baseline.values()], [row.measured for row in one.vendor.values()])
        for one in pairs
    ]


@dataclass(frozen=True)
class SideRows:
    """The rows of one side, with the number of the case of each.

    Attributes:
        cases: their number.
    """

    rows: Sequence[AnswerRow]
    case: NDArray[np.intp]
    cases: int

    @classmethod
    def of(cls, trials: Sequence[Trials]) -> SideRows:
        """Make a side of the trials of each case."""
        rows = [row for case in trials for row in case.values()]
        return cls(rows, np.repeat(np.arange(len(trials)), [len(case) for case in trials]), len(trials))

    def sums(self, values: Iterable[float | None]) -> tuple[Column, Column]:
        """Return the sum and the number of the known values of each case; there is a value for each row."""
        found = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        known = np.isfinite(found)
        sums = np.bincount(self.case[known], found[known], self.cases)
        return sums, np.bincount(self.case[known], minlength=self.cases).astype(np.float64)

    def fitting(self) -> tuple[Column, Column]:
        """Return per case the answers with calls whose calls all fit their schemas, and those that can be checked."""
        return self.sums(row.fits for row in self.rows)

    def figure(self, name: str) -> list[float | None]:
        """Return a figure of each valid answer."""
        return [row.figure(name) if row.decision != "none" else None for row in self.rows]

    @cached_property
    def answers(self) -> tuple[Column, Column]:
        """The valid answers of each case, with any finish reason, and its trials."""
        return self.sums(row.decision != "none" for row in self.rows)

    @cached_property
    def triggers(self) -> Column:
        """The answers of each case that call tools."""
        return self.sums(row.decision == "tool_calls" for row in self.rows)[0]

    def shares(self, *, delivered: bool) -> Column:
        """Return the share of triggers; nan for a case without answers.

        Args:
            delivered: whether failures count, as missing triggers; otherwise only valid answers count.
        """
        return _means(self.triggers, self.answers[delivered])


def _means(sums: Column, counts: Column) -> Column:
    means: Column = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def k2_figures(pairing: Pairing) -> dict[str, Any]:
    """Return the K2-style figures of two tables.

    Pairs with a failed row are left out, a finish reason other than ``tool_calls`` is a negative, a ratio without a
    denominator is 0, and figures have four decimals. Unlike in those tools, rows are paired by content; all trials
    count, those with equal numbers as pairs, where those tools keep the last row of a request.
    """
    rows = [rows for pair in pairing.pairs for rows in pair.rows()]
    both = [rows for rows in rows if all(row.success for row in rows)]
    counted = Counter(tuple(row.finish_reason == "tool_calls" for row in rows) for rows in both)
    tp, fp, fn = counted[True, True], counted[False, True], counted[True, False]
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    f1 = _ratio(2 * precision * recall, precision + recall)
    fitting = sum(vendor.finish_reason == "tool_calls" and vendor.valid is True for _, vendor in both)
    ours, theirs = (side.cases(by_name=pairing.by_name) for side in (pairing.baseline, pairing.vendor))
    similar = {"TP": tp, "FP": fp, "FN": fn, "TN": counted[False, False], "precision": round(precision, 4)}
    similar |= {"recall": round(recall, 4), "f1": round(f1, 4)}
    accuracy: dict[str, Any] = {"count_finish_reason_tool_calls": tp + fp, "count_successful_tool_call": fitting}
    accuracy["schema_accuracy"] = f"{_ratio(fitting, tp + fp):.2%}"
    found: dict[str, Any] = {"total_baseline": len(ours), "total_vendor": len(theirs)}
    found |= {"common_indices": len(pairing.cases), "matched_success": len(both)}
    found |= {"skipped_failures": len(rows) - len(both), "tool_call_trigger_similarity": similar}
    return found | {"tool_call_schema_accuracy": accuracy}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def f1(tp: Any, fp: Any, fn: Any, _tn: Any = None) -> Any:
    """The harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fp + fn)


def chance_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The expected F1 of independent decisions at the same trigger rates."""
    cases, ours, theirs = tp + fp + fn + tn, tp + fn, tp + fp
    return 2 * ours * theirs / (cases * (ours + theirs))


def chance(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The share of cases in which independent decisions at the same trigger rates agree."""
    return ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / (tp + fp + fn + tn) ** 2


def kappa(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Cohen's kappa: agreement beyond chance, 1 if perfect, 0 at chance, negative if worse.

    Source: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
    (1960), 37-46.
    """
    expected = chance(tp, fp, fn, tn)
    return ((tp + tn) / (tp + fp + fn + tn) - expected) / (1 - expected)


def excess_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """F1 above chance."""
    return f1(tp, fp, fn) - chance_f1(tp, fp, fn, tn)


def flip_rate(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The probability that two trials of a case decide differently."""
    return (fp + fn) / (tp + fp + fn + tn)


def agreement(baseline: SideRows, vendor: SideRows, *, delivered: bool) -> Column:
    """Compare decisions over the cases that both sides answered; if ``delivered``, over all that the baseline did.

    Returns:
        The expected TP, FP, FN and TN of each case, with the baseline's decisions as the truth. With one trial per side
        they are 0 or 1; with several, they are shares of the pairs of trials.
    """
    ours, theirs = baseline.shares(delivered=False), vendor.shares(delivered=delivered)
    known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = np.where(known, ours, 0.0), np.where(known, theirs, 0.0)
    return np.stack(
        [ours * theirs, (1 - ours) * theirs * known, ours * (1 - theirs) * known, (1 - ours) * (1 - theirs) * known]
    )


def self_agreement(side: SideRows) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Column]:
    """Compare each trial with all others of its case, and none with itself, so that the estimate is unbiased.

    Returns:
        Whether a case has at least two valid answers, as others do not count; whether all of these decide alike; and
        the agreement, in which false positives and false negatives are equal.
    """
    (n, _), k = side.answers, side.triggers
    known = n >= 2
    pairs = np.where(known, n * (n - 1), 1.0)
    split = k * (n - k) / pairs * known
    both, neither = k * (k - 1) / pairs * known, (n - k) * (n - k - 1) / pairs * known
    return known, known & ((k == 0) | (k == n)), np.stack([both, split, split, neither])


def count_cases(found: Column) -> int:
    """Return the number of cases in an agreement."""
    return int(sum(column.sum() for column in found) + 0.5)


def similarity(found: Column, bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Return precision, recall, F1, kappa and the F1 of chance of an agreement, each with its interval."""
    cases = count_cases(found)
    tp, fp, fn, tn = sums = [float(column.sum()) for column in found]
    drawn = bootstrap.estimates({"f1": f1, "kappa": kappa, "chance_f1": chance_f1}, *found, n=cases)
    if called := tp + fp + fn:
        of_chance = chance(*sums)
        drawn["f1"] = _with_width(drawn["f1"], tp / called, _calling_cases(found), _f1_of)
        agreed, chance_f1_value = (tp + tn) / (called + tn), drawn["chance_f1"].value or 0.0
        drawn["kappa"] = _with_width(drawn["kappa"], agreed, cases, lambda p: (p - of_chance) / (1 - of_chance))
        drawn["chance_f1"] = _with_width(drawn["chance_f1"], chance_f1_value, cases)
    counts = {"cases": cases, **dict(zip(("TP", "FP", "FN", "TN"), sums, strict=True))}
    shares = {
        "precision": case_share(found[0], found[0] + found[1]),
        "recall": case_share(found[0], found[0] + found[2]),
    }
    return counts | shares | {name: _within_range(one) for name, one in drawn.items()}


def _calling_cases(found: Column) -> int:
    """Return the number of cases in which either side calls tools: F1 rests on them alone."""
    return int((found[0] + found[1] + found[2] > 0).sum())


def _within_range(found: Estimate) -> Estimate:
    """Cut the interval to the range of F1 and kappa."""
    if found.interval is None:
        return found
    low, high, level = found.interval
    return replace(found, interval=Interval(max(-1.0, low), min(1.0, high), level))


def _with_width(found: Estimate, share: float, cases: int, figure: Callable[[float], float] = float) -> Estimate:
    """Return the estimate, with an interval that has a width.

    Where all cases agree, every resample does, and its interval is a point, be there three cases or three thousand.
    Wilson's interval of the share that agrees then says how much so many cases leave open.

    Args:
        share: of the cases on which the figure rests, those that agree.
        cases: their number.
        figure: computes it from a share.
    """
    interval = found.interval
    if found.value is None or interval is None or interval.low < interval.high or cases < 1:
        return found
    low, high, _ = wilson_interval(min(1.0, share), cases)
    ends = (figure(low), figure(high), found.value)
    return replace(found, interval=Interval(min(ends), max(ends)))


def _f1_of(share: float) -> float:
    """F1 where this share of the cases in which either side calls tools agrees."""
    return 2 * share / (1 + share)


def consistency(side: SideRows, bootstrap: CaseBootstrap) -> dict[str, Any] | None:
    """Return how far the trials of one side agree; None with one trial per case, where it is unknown.

    It limits how far another side can agree with this one.
    """
    known, stable, found = self_agreement(side)
    cases = int(known.sum())
    if not cases:
        return None
    self_f1, flips = bootstrap.estimate(f1, *found, n=cases), bootstrap.estimate(flip_rate, *found, n=cases)
    if called := sum(float(column.sum()) for column in found[:3]):
        self_f1 = _with_width(self_f1, float(found[0].sum()) / called, _calling_cases(found), _f1_of)
    of_pairs = sorted(_f1_of_pairs(side))
    spread = (of_pairs[0], sum(of_pairs) / len(of_pairs), of_pairs[-1]) if of_pairs else (None,) * 3
    pairs = {"n": len(of_pairs), **dict(zip(("least", "mean", "greatest"), spread, strict=True))}
    flips = _with_width(flips, flips.value or 0.0, cases)
    found_all = {"cases": cases, "trials": int(side.answers[1].max()), "self_f1": self_f1, "pairs_of_trials": pairs}
    return found_all | {"flip_rate": flips, "stable_cases": int(stable.sum())}


def _f1_of_pairs(side: SideRows) -> Iterator[float]:
    """Yield F1 of every pair of trials; it is the same in both directions."""
    numbers, place = np.unique([row.trial for row in side.rows], return_inverse=True)
    triggers = np.full((len(numbers), side.cases), np.nan)
    decided = [math.nan if row.decision == "none" else row.decision == "tool_calls" for row in side.rows]
    triggers[place, side.case] = decided
    for one, other in combinations(triggers, 2):
        known = np.isfinite(one) & np.isfinite(other)
        both, either = float((one * other)[known].sum()), float((one + other)[known].sum())
        if either:
            yield 2 * both / either


def _decisions(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Baseline's decision -> vendor's decision -> count, over rows with equal trial numbers."""
    counted = Counter((ours.decision, theirs.decision) for pair in pairs for ours, theirs in pair.rows())
    return {one: {other: counted[one, other] for other in DECISIONS} for one in DECISIONS}


def _outcomes(side: SideRows) -> dict[str, Any]:
    rows = side.rows
    failed = by_frequency(row.problem or "?" for row in rows if row.decision == "none")
    others = by_frequency(row.finish_reason or "?" for row in rows if row.outcome == "other")
    found: dict[str, Any] = {"rows": len(rows), "outcomes": by_frequency(row.outcome for row in rows)}
    return found | {"problems": failed, "other_finish_reasons": others}


def _success_rate(side: SideRows) -> Estimate:
    return case_share(*side.answers, n=len(side.rows))


def _schema_accuracy(side: SideRows) -> dict[str, Any]:
    """Return schema accuracy per response and per call, with the reasons why calls are not valid."""
    calling = [row.calls or () if row.decision == "tool_calls" else () for row in side.rows]
    calls = [call for own in calling for call in own]
    fitting, known = (
        np.bincount(side.case, [sum(fits in kinds for fits, _ in own) for own in calling], side.cases)
        for kinds in ((True,), (True, False))
    )
    parts, wholes = side.fitting()
    listed = any(row.calls is not None for row in side.rows)
    found: dict[str, Any] = {"per_response": case_share(parts, wholes, n=int(wholes.sum()))}
    found["per_call"] = case_share(fitting, known, n=int(known.sum())) if listed else None
    found["reasons"] = by_frequency(reason for fits, reasons in calls if fits is False for reason in reasons)
    found["unjudged_calls"] = sum(fits is None for fits, _ in calls)
    found["responses_without_calls"] = sum(row.decision == "tool_calls" and row.calls == () for row in side.rows)
    others = sum(len(row.calls or ()) for row in side.rows) - len(calls)
    return found | {"calls_under_another_finish_reason": others}


OF_EACH_SIDE: Mapping[str, Callable[[SideRows], Any]] = {
    "outcomes": _outcomes,
    "success_rate": _success_rate,
    "schema_accuracy": _schema_accuracy,
}


def case_share(part: Column, whole: Column, n: int | None = None) -> Estimate:
    """Return a share over cases, with an interval that keeps the trials of a case together.

    Args:
        part, whole: per case.
        n: observations to state; by default the cases that have any.
    """
    cases = int((whole > 0).sum())
    if not cases:
        return Estimate(None, None, 0)
    value = min(1.0, float(part.sum() / whole.sum()))
    return Estimate(value, clustered_interval(part.tolist(), whole.tolist()), cases if n is None else n)


def mean(total: Any, count: Any) -> Any:
    """Return the mean of the known values."""
    return total / count


def _figure(name: str, baseline: SideRows, vendor: SideRows, bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Return a figure of both sides, with the mean of the differences within cases."""
    apart = _differences(name, baseline, vendor)
    known = np.isfinite(apart)
    columns = np.where(known, apart, 0.0), known.astype(np.float64)
    found: dict[str, Any] = {
        side: _distribution(name, own, bootstrap) for side, own in zip(SIDES, (baseline, vendor), strict=True)
    }
    return found | {"difference": bootstrap.estimate(mean, *columns, n=int(known.sum()))}


def _differences(name: str, baseline: SideRows, vendor: SideRows) -> Column:
    """Return the vendor's mean minus the baseline's per case; nan where one of them is unknown."""
    ours, theirs = (_means(*side.sums(side.figure(name))) for side in (baseline, vendor))
    return theirs - ours


def _distribution(figure: str, side: SideRows, bootstrap: CaseBootstrap) -> dict[str, Any]:
    ordered = sorted(value for value in side.figure(figure) if value is not None)
    sums, counts = side.sums(side.figure(figure))
    cases, n = int((counts > 0).sum()), len(ordered)
    average = bootstrap.estimate(mean, sums, counts, n=n)
    quantiles = {name: _quantile(ordered, share, cases) for name, share in QUANTILES.items()}
    return {"n": n, "missing": int(side.answers[0].sum()) - n, "mean": average, **quantiles}


def _quantile(ordered: Sequence[float], share: float, cases: int) -> dict[str, float | None]:
    interval = quantile_interval(ordered, share, cases) if ordered else None
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {"value": quantile(ordered, share) if ordered else None, "low": low, "high": high}


def quantile_interval(ordered: Sequence[float], share: float, n: int) -> Interval | None:
    """Return the interval of a quantile: the values at the ends of the interval of its share (Woodruff's method).

    Source: R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
    Statistical Association 47 (1952), 635-646; with Wilson's interval for the share.

    Args:
        ordered: the values from least to greatest; at least one.
        n: the independent observations among them: cases, where several values are of one case.

    Returns:
        None where there are so few observations that an end lies beyond all of them (a p99 of 50 values).
    """
    low, high, _ = wilson_interval(share, n)
    if low * n < 1 or (1 - high) * n < 1:
        return None
    return Interval(quantile(ordered, low), quantile(ordered, high))


def _tests(baseline: SideRows, vendor: SideRows) -> Iterator[dict[str, Any]]:
    """Yield every significance test, case by case, for which there are data; p is corrected later."""
    values = {
        "trigger_rate": _majority(vendor) - _majority(baseline),
        "success_rate": _means(*vendor.answers) - _means(*baseline.answers),
        "schema_accuracy": _means(*vendor.fitting()) - _means(*baseline.fitting()),
        **{figure: _differences(figure, baseline, vendor) for figure in AMOUNTS},
    }
    for metric, column in values.items():
        known = column[np.isfinite(column)]
        if len(known):
            found = paired_test(known, of_amounts=metric in AMOUNTS)
            ends = {"vendor_only": found.up, "baseline_only": found.down, "p": found.p, "p_holm": 1.0}
            yield {"metric": metric, "method": found.method, "cases": len(known), **ends}


def _majority(side: SideRows) -> Column:
    """Return 1 where most valid answers call tools, 0 where fewer than half do, nan in a tie or without answers."""
    share = side.shares(delivered=False)
    return np.where(share == 0.5, np.nan, np.round(share))


def _served(side: SideRows) -> list[dict[str, Any]]:
    counted = Counter(row.served for row in side.rows if any(row.served))
    return [dict(zip(SERVED, served, strict=True)) | {"rows": count} for served, count in counted.most_common()]
