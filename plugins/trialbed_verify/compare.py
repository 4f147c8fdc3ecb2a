"""Compare vendors with a baseline over their shared cases; the result is a JSON document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
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
from trialbed_verify.findings import same_model
from trialbed_verify.panel import Conclusion, Panel, PanelOptions, judge, resample_verdict
from trialbed_verify.summary import QUANTILES, as_document, by_frequency
from trialbed_verify.table import SIDES, AnswerRow, Answers, Pair, Pairing, Trials, pair

Column = NDArray[Any]
"""One value per case."""

Figure = Callable[..., Any]
"""Computes a figure from sums of columns."""

FIGURES = ("total_tokens", "completion_tokens", "ttft_ms", "tps", "duration_ms")

AMOUNTS = ("total_tokens", "ttft_ms", "tps")
"""Tested figures without a winner per case."""


def compare(
    baseline: Answers,
    vendors: Iterable[Answers],
    *,
    resamples: int = RESAMPLES,
    force: bool = False,
    gate_margins: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Compare each vendor with the baseline.

    The comparisons are JSON objects, but for the ``Panel`` with the verdict in each. p-values are corrected for all
    vendors and metrics together. ``force`` compares the common cases of files that differ.
    """
    options = {"resamples": resamples, "force": force, "gate_margins": dict(gate_margins or {})}

    def compare_one(vendor: Answers) -> dict[str, Any]:
        return _compare(pair(baseline, vendor, force=force), options)

    # Unlike a loop, ``map`` lets go of a vendor before the next one is read.
    found = list(map(compare_one, vendors))
    tests = {(number, test["metric"]): test for number, one in enumerate(found) for test in one["tests"]}
    for key, p in holm({key: test["p"] for key, test in tests.items()}).items():
        tests[key]["p_holm"] = p
    return found


def _compare(pairing: Pairing, options: dict[str, Any]) -> dict[str, Any]:
    tables = {"baseline": pairing.baseline, "vendor": pairing.vendor}
    sides = {side: SideRows.of([getattr(one, side) for one in pairing.pairs]) for side in SIDES}
    baseline, vendor = sides.values()
    bootstrap = CaseBootstrap(baseline.cases, options["resamples"])
    scopes = {"answered": False, "delivered": True}
    agreements = {scope: agreement(baseline, vendor, delivered=delivered) for scope, delivered in scopes.items()}
    itself, stable = consistency(baseline, bootstrap), self_agreement(baseline)[1]
    subset = {scope: similarity(found * stable, bootstrap) for scope, found in agreements.items()} if itself else None
    panel = judge_pairs(pairing.pairs, PanelOptions(options["gate_margins"], prices=pairing.prices))
    about: dict[str, Any] = {"by": "case" if pairing.by_name else "request", "cases": baseline.cases}
    about |= {name: len(getattr(pairing, name)) for name in ("only_baseline", "only_vendor", "asked_otherwise")}
    document: dict[str, Any] = k2_figures(pairing)
    for side, own in tables.items():
        document[side] = {"file": str(own.source), "vendor": own.vendor, "model": own.model, "rows": len(own.rows)}
    document |= {"panel": None, "pairing": about | {"settings": pairing.settings}}
    document["similarity"] = {scope: similarity(found, bootstrap) for scope, found in agreements.items()}
    document["self_consistency"] = {"baseline": itself, "vendor": consistency(vendor, bootstrap)}
    document |= {"stable_subset": subset, "outcomes": {side: _outcomes(own.rows) for side, own in sides.items()}}
    document["success_rate"] = {side: case_share(*own.answers) for side, own in sides.items()}
    document["schema_accuracy"] = {side: _schema_accuracy(own) for side, own in sides.items()}
    document["figures"] = _figures(sides, bootstrap)
    document |= {"tests": list(_tests(baseline, vendor)), "options": options}
    document |= {"notes": [note for own in tables.values() for note in own.notes]}
    return as_document(document) | {"panel": panel}  # type: ignore[no-any-return]


def judge_pairs(pairs: Sequence[Pair], chosen: PanelOptions) -> Panel:
    """Return the panel's verdict on the vendor of some pairs, which says so if the sides ask for other models."""
    asked = [{row.asked_model for one in pairs for row in one[side].values() if row.asked_model} for side in (0, 1)]
    if all(asked) and not any(same_model(*names) for names in product(*asked)):
        names = ", ".join(name for own in asked for name in sorted(own))
        chosen = replace(chosen, other_models=f"the requests ask for other models ({names})")
    return judge(_measures(pairs), chosen)


def verdict_shares(
    baseline: Answers, vendor: Answers, sizes: Sequence[int]
) -> tuple[int, Mapping[int, Mapping[Conclusion, float]]]:
    """Return the cases that both have and, for numbers of cases drawn from them, the share of each verdict."""
    pairs = pair(baseline, vendor).pairs
    return len(pairs), resample_verdict(_measures(pairs), sizes)


def _measures(pairs: Sequence[Pair]) -> list[Any]:
    return [tuple([row.measured for row in trials.values()] for trials in one) for one in pairs]


@dataclass(frozen=True)
class SideRows:
    """The rows of one side, with each row's case number and the number of cases."""

    rows: Sequence[AnswerRow]
    case: NDArray[np.intp]
    cases: int

    @classmethod
    def of(cls, trials: Sequence[Trials]) -> SideRows:
        """Flatten the trials of all cases."""
        rows = [row for case in trials for row in case.values()]
        return cls(rows, np.repeat(np.arange(len(trials)), [len(case) for case in trials]), len(trials))

    def sums(self, values: Iterable[float | None], case: NDArray[np.intp] | None = None) -> tuple[Column, Column]:
        """Return the sum and the number of the known values of each case; by default, each row has a value."""
        found = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        known, case = np.isfinite(found), self.case if case is None else case
        sums = np.bincount(case[known], found[known], self.cases)
        return sums, np.bincount(case[known], minlength=self.cases).astype(np.float64)

    def fitting(self) -> tuple[Column, Column]:
        """Return per case how many answers have only fitting calls, and how many can be checked."""
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
        """Return the share of triggers, nan without answers; if ``delivered``, failures count as missing triggers."""
        return _means(self.triggers, self.answers[delivered])


def _means(sums: Column, counts: Column) -> Column:
    means: Column = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def k2_figures(pairing: Pairing) -> dict[str, Any]:
    """Return the K2-style figures of two tables, from the files' own columns.

    Pairs with a failed row are left out, a finish reason other than ``tool_calls`` is a negative, a ratio without a
    denominator is 0, and figures have four decimals. Unlike the K2-style tools, which keep the last row of a request,
    this pairs rows by content and counts all trials, paired by their numbers.
    """
    rows = [rows for pair in pairing.pairs for rows in pair.rows()]
    both = [rows for rows in rows if all(row.success for row in rows)]
    counted = Counter(tuple(row.stated[0] == "tool_calls" for row in rows) for rows in both)
    tp, fp, fn = counted[True, True], counted[False, True], counted[True, False]
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    f1 = _ratio(2 * precision * recall, precision + recall)
    fitting = sum(vendor.stated[0] == "tool_calls" and bool(vendor.stated[1]) for _, vendor in both)
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
    """Return the share of cases that would agree if both sides decided independently at their trigger rates."""
    return ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / (tp + fp + fn + tn) ** 2


def kappa(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Return Cohen's kappa, the agreement beyond chance. It is 1 if perfect, 0 at chance and negative if worse.

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

    Return the expected TP, FP, FN and TN of each case, with the baseline's decisions as the truth. With one trial per
    side they are 0 or 1; with several, they are shares of the pairs of trials.
    """
    ours, theirs = baseline.shares(delivered=False), vendor.shares(delivered=delivered)
    known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = np.where(known, ours, 0.0), np.where(known, theirs, 0.0)
    return np.stack([ours * theirs, (1 - ours) * theirs, ours * (1 - theirs), (1 - ours) * (1 - theirs)]) * known


def self_agreement(side: SideRows) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Column]:
    """Compare each trial with the other trials of its case; a trial is never compared with itself, which would bias it.

    Return whether a case has at least two valid answers, whether all of these decide the same, and the agreement.
    Invalid answers do not count. False positives and false negatives of the agreement are equal.
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
    tp, fp, fn, _ = found
    counts: dict[str, Any] = {"cases": count_cases(found)}
    counts |= {name: float(column.sum()) for name, column in zip(("TP", "FP", "FN", "TN"), found, strict=True)}
    for name, whole in {"precision": tp + fp, "recall": tp + fn}.items():
        counts[name] = replace(case_share(tp, whole), n=int((whole > 0).sum()))
    return counts | _estimates(found, bootstrap, {"f1": f1, "kappa": kappa, "chance_f1": chance_f1})


def _estimates(found: Column, bootstrap: CaseBootstrap, figures: Mapping[str, Figure]) -> dict[str, Estimate]:
    """Return figures of an agreement, each with an interval that has a width.

    If all cases agree, so does every resample, and its interval is a point for three cases as for three thousand.
    Wilson's interval of the share that agrees is used then.
    """
    drawn = bootstrap.estimates(figures, *found, n=count_cases(found))
    for name, one in drawn.items():
        if one.value is not None and one.interval is not None:
            low, high, level = one.interval
            if low == high:
                low, high = _wilson_ends(figures[name], one.value, found)
            drawn[name] = replace(one, interval=Interval(max(-1.0, low), min(1.0, high), level))
    return drawn


def _wilson_ends(figure: Figure, value: float, found: Column) -> tuple[float, float]:
    tp, fp, fn, tn = sums = [float(column.sum()) for column in found]
    share, cases = value, count_cases(found)
    if figure is f1:
        # It is based only on cases with tool calls on either side.
        share, cases = tp / (tp + fp + fn), int((found[:3].sum(axis=0) > 0).sum())
    elif figure is kappa:
        share = (tp + tn) / sum(sums)
    ends = list(wilson_interval(min(1.0, share), cases)[:2])
    if figure is f1:
        ends = [2 * end / (1 + end) for end in ends]
    elif figure is kappa:
        ends = [(end - chance(*sums)) / (1 - chance(*sums)) for end in ends]
    return min(*ends, value), max(*ends, value)


def consistency(side: SideRows, bootstrap: CaseBootstrap) -> dict[str, Any] | None:
    """Return how far the trials of one side agree, which limits its agreement with others; None with single trials."""
    known, stable, found = self_agreement(side)
    if not known.any():
        return None
    drawn = _estimates(found, bootstrap, {"self_f1": f1, "flip_rate": flip_rate})
    counts = {"cases": int(known.sum()), "trials": int(side.answers[1].max())}
    return counts | drawn | {"stable_cases": int(stable.sum())}


def _outcomes(rows: Sequence[AnswerRow]) -> dict[str, Any]:
    failed = by_frequency(row.problem or "?" for row in rows if row.decision == "none")
    others = by_frequency(row.finish_reason or "?" for row in rows if row.outcome == "other")
    return {"problems": failed, "other_finish_reasons": others}


def _schema_accuracy(side: SideRows) -> dict[str, Any]:
    calling = [row.calls or () if row.decision == "tool_calls" else () for row in side.rows]
    calls, of_rows = [call for own in calling for call in own], [len(own) for own in calling]
    per_call = case_share(*side.sums((fits for fits, _ in calls), np.repeat(side.case, of_rows)))
    found: dict[str, Any] = {"per_response": case_share(*side.fitting())}
    found["per_call"] = per_call if any(row.calls is not None for row in side.rows) else None
    return found | {"reasons": by_frequency(reason for fits, own in calls if fits is False for reason in own)}


def case_share(part: Column, whole: Column) -> Estimate:
    """Return a share over the observations of cases, with an interval that keeps the trials of a case together."""
    if not whole.any():
        return Estimate(None, None, 0)
    value = min(1.0, float(part.sum() / whole.sum()))
    return Estimate(value, clustered_interval(part.tolist(), whole.tolist()), int(whole.sum()))


def _figures(sides: Mapping[str, SideRows], bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Return the figures of both sides, each with the mean of the differences within cases."""
    values = {(name, side): own.figure(name) for name in FIGURES for side, own in sides.items()}
    columns = {(name, side): sides[side].sums(own) for (name, side), own in values.items()}
    for name in FIGURES:
        apart = _differences(*(columns[name, side] for side in SIDES))
        columns[name, "difference"] = np.nan_to_num(apart), np.isfinite(apart).astype(np.float64)
    # Resamples are read once for all figures.
    ratios = {str(key): lambda *sums, at=2 * place: sums[at] / sums[at + 1] for place, key in enumerate(columns)}
    drawn = bootstrap.estimates(ratios, *(column for pair in columns.values() for column in pair))
    means = {key: replace(drawn[str(key)], n=int(counts.sum())) for key, (_, counts) in columns.items()}
    found: dict[str, Any] = {name: {side: {} for side in SIDES} for name in FIGURES}
    for (name, side), own in values.items():
        ordered, cases = sorted(value for value in own if value is not None), int((columns[name, side][1] > 0).sum())
        missing = int(sides[side].answers[0].sum()) - len(ordered)
        found[name][side] = {"n": len(ordered), "missing": missing, "mean": means[name, side]}
        found[name][side] |= {title: _quantile(ordered, share, cases) for title, share in QUANTILES.items()}
        found[name]["difference"] = means[name, "difference"]
    return found


def _differences(baseline: tuple[Column, Column], vendor: tuple[Column, Column]) -> Column:
    """Return the vendor's mean minus the baseline's per case; nan if one of them is unknown."""
    return _means(*vendor) - _means(*baseline)


def _quantile(ordered: Sequence[float], share: float, cases: int) -> dict[str, float | None]:
    low, high, *_ = (ordered and quantile_interval(ordered, share, cases)) or (None, None)
    return {"value": quantile(ordered, share) if ordered else None, "low": low, "high": high}


def quantile_interval(ordered: Sequence[float], share: float, n: int) -> Interval | None:
    """Return the interval of a quantile by Woodruff's method, from the interval of its share.

    Source: R. S. Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
    Statistical Association 47 (1952), 635-646; with Wilson's interval for the share.

    ``n`` is the number of independent observations, which is the number of cases if a case has several values. Return
    None if ``n`` is so small that an end lies beyond all values (a p99 of 50 values).
    """
    low, high, _ = wilson_interval(share, n)
    if low * n < 1 or (1 - high) * n < 1:
        return None
    return Interval(quantile(ordered, low), quantile(ordered, high))


def _tests(baseline: SideRows, vendor: SideRows) -> Iterator[dict[str, Any]]:
    """Yield every paired significance test that has data; p is corrected later."""
    values = {
        "trigger_rate": _majority(vendor) - _majority(baseline),
        "success_rate": _differences(baseline.answers, vendor.answers),
        "schema_accuracy": _differences(baseline.fitting(), vendor.fitting()),
        **{name: _differences(*(side.sums(side.figure(name)) for side in (baseline, vendor))) for name in AMOUNTS},
    }
    for metric, column in values.items():
        if len(known := column[np.isfinite(column)]):
            found = paired_test(known, of_amounts=metric in AMOUNTS)
            about = {"metric": metric, "method": found.method, "cases": len(known)}
            yield about | {"vendor_only": found.up, "baseline_only": found.down, "p": found.p, "p_holm": 1.0}


def _majority(side: SideRows) -> Column:
    """Return 1 if most valid answers call tools, 0 if fewer than half do, nan in a tie or without answers."""
    share = side.shares(delivered=False)
    return np.where(share == 0.5, np.nan, np.round(share))
