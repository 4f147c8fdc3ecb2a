"""Decisions about tool calls, counted per case, and how far two sides agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import CaseBootstrap, Estimate, Interval, clustered_interval
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._records import Outcomes, Similarity
from trialbed_verify.comparison._results import Trials
from trialbed_verify.comparison._unvaried import f1_of, with_width
from trialbed_verify.verification.results import ANSWERS, Decision

Column = NDArray[np.float64]
"""One value per case."""

KINDS: tuple[Decision, ...] = (*ANSWERS, "none")


@dataclass(frozen=True)
class Decisions:
    """One side's decisions, counted per case over all its trials.

    Attributes:
        triggers: answers that call tools.
        answers: valid answers, with any finish reason.
        failures: trials without a valid answer.
    """

    triggers: Column
    answers: Column
    failures: Column

    @property
    def trials(self) -> Column:
        """The number of trials per case."""
        return self.answers + self.failures

    def shares(self, *, delivered: bool) -> Column:
        """The share of triggers; nan for a case without answers.

        Args:
            delivered: whether failures count, as missing triggers; otherwise only valid answers count.
        """
        whole = self.trials if delivered else self.answers
        shares: Column = np.divide(self.triggers, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        return shares


def decisions(trials: Iterable[Trials]) -> Decisions:
    """Count the decisions in each case."""
    made = [[row.decision for row in rows.values()] for rows in trials]
    failures = np.array([case.count("none") for case in made], dtype=np.float64)
    triggers = np.array([case.count("tool_calls") for case in made], dtype=np.float64)
    return Decisions(triggers, np.array([len(case) for case in made]) - failures, failures)


def confusion(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Baseline's decision -> vendor's decision -> count, over rows with equal trial numbers."""
    counted = Counter((ours.decision, theirs.decision) for pair in pairs for ours, theirs in pair.rows())
    return {one: {other: counted[one, other] for other in KINDS} for one in KINDS}


def outcomes(trials: Iterable[Trials]) -> Outcomes:
    """Count outcomes, the problems of failures, and other finish reasons."""
    rows = [row for case in trials for row in case.values()]
    return Outcomes(
        rows=len(rows),
        outcomes=_by_frequency(row.outcome for row in rows),
        problems=_by_frequency(row.problem or "?" for row in rows if row.decision == "none"),
        other_finish_reasons=_by_frequency(row.finish_reason or "?" for row in rows if row.outcome == "other"),
    )


def _by_frequency(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def f1(tp: Any, fp: Any, fn: Any) -> Any:
    """The harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fp + fn)


def chance_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The expected F1 of independent decisions at the same trigger rates."""
    cases, ours, theirs = tp + fp + fn + tn, tp + fn, tp + fp
    return 2 * ours * theirs / (cases * (ours + theirs))


def kappa(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Cohen's kappa: agreement beyond chance, 1 if perfect, 0 at chance, negative if worse.

    Source: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
    (1960), 37-46.
    """
    cases = tp + fp + fn + tn
    chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / cases**2
    return ((tp + tn) / cases - chance) / (1 - chance)


def table_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG001 - F1 does not use it
    """F1, with the signature of figures of all four counts."""
    return f1(tp, fp, fn)


def excess_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """F1 above chance."""
    return f1(tp, fp, fn) - chance_f1(tp, fp, fn, tn)


FIGURES: dict[str, Callable[..., Any]] = {"f1": table_f1, "kappa": kappa, "chance_f1": chance_f1}


@dataclass(frozen=True)
class Agreement:
    """Expected confusion counts per case, with the baseline's decisions as the truth.

    With one trial per side they are 0 or 1; with several, they are shares of the pairs of trials.
    """

    tp: Column
    fp: Column
    fn: Column
    tn: Column

    @property
    def table(self) -> tuple[Column, Column, Column, Column]:
        """All four counts."""
        return self.tp, self.fp, self.fn, self.tn

    @property
    def errors(self) -> tuple[Column, Column, Column]:
        """The counts without the true negatives."""
        return self.tp, self.fp, self.fn

    @property
    def cases(self) -> int:
        """The number of cases compared."""
        return int(sum(column.sum() for column in self.table) + 0.5)

    @property
    def calling_cases(self) -> int:
        """Return the number of cases in which either side calls tools: F1 rests on them alone."""
        return int((self.tp + self.fp + self.fn > 0).sum())

    def only(self, chosen: Any) -> Agreement:
        """Restrict to some cases; the others count as 0."""
        return Agreement(*(column * chosen for column in self.table))


def agreement(baseline: Decisions, vendor: Decisions, *, delivered: bool) -> Agreement:
    """Compare decisions over the cases that both sides answered; if ``delivered``, over all that the baseline did."""
    ours, theirs = baseline.shares(delivered=False), vendor.shares(delivered=delivered)
    known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = np.where(known, ours, 0.0), np.where(known, theirs, 0.0)
    return Agreement(
        tp=ours * theirs,
        fp=(1 - ours) * theirs * known,
        fn=ours * (1 - theirs) * known,
        tn=(1 - ours) * (1 - theirs) * known,
    )


def similarity(found: Agreement, bootstrap: CaseBootstrap) -> Similarity:
    """Return precision, recall, F1, kappa and the F1 of chance, each with its interval."""
    drawn = bootstrap.estimates(FIGURES, *found.table, n=found.cases)
    tp, fp, fn, tn = (float(column.sum()) for column in found.table)
    return Similarity(
        cases=found.cases,
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        precision=case_share(found.tp, found.tp + found.fp),
        recall=case_share(found.tp, found.tp + found.fn),
        **{name: _within_range(estimate) for name, estimate in _with_widths(found, drawn).items()},
    )


def _with_widths(found: Agreement, drawn: dict[str, Estimate]) -> dict[str, Estimate]:
    """The figures, with intervals that have a width where no resample differs from another."""
    tp, fp, fn, tn = (float(column.sum()) for column in found.table)
    cases, called = tp + fp + fn + tn, tp + fp + fn
    if not called:
        return drawn
    chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / cases**2
    wide = dict(drawn)
    wide["f1"] = with_width(drawn["f1"], tp / called, found.calling_cases, f1_of)
    wide["kappa"] = with_width(drawn["kappa"], (tp + tn) / cases, found.cases, lambda p: (p - chance) / (1 - chance))
    wide["chance_f1"] = with_width(drawn["chance_f1"], drawn["chance_f1"].value or 0.0, found.cases)
    return wide


def _within_range(found: Estimate) -> Estimate:
    """Cut the interval to the range of F1 and kappa."""
    if found.interval is None:
        return found
    low, high, level = found.interval
    return replace(found, interval=Interval(max(-1.0, low), min(1.0, high), level))


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
