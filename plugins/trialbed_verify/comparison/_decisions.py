"""Decisions about tool calls, counted per case, and how far two sides agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import CaseBootstrap, Estimate, wilson_interval
from trialbed_verify.comparison._pairing import Pair
from trialbed_verify.comparison._results import Trials
from trialbed_verify.verification.results import ANSWERS, Decision, ResultRow

Column = NDArray[np.float64]
"""One value per case."""

KINDS: tuple[Decision, ...] = (*ANSWERS, "none")


@dataclass(frozen=True)
class Decisions:
    """What one side decided in each case, over all its trials.

    Attributes:
        triggers: answers that call tools.
        answers: valid answers, of whatever finish reason.
        failures: trials without a valid answer.
    """

    triggers: Column
    answers: Column
    failures: Column

    @property
    def trials(self) -> Column:
        """All trials."""
        return self.answers + self.failures

    def shares(self, *, delivered: bool) -> Column:
        """The share of triggers; nan where there is nothing to share.

        Args:
            delivered: among all trials, so that a failure is no trigger; else among the valid answers.
        """
        whole = self.trials if delivered else self.answers
        shares: Column = np.divide(self.triggers, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        return shares


def decisions(trials: Iterable[Trials]) -> Decisions:
    """Count what was decided in each case."""
    counted = np.array([_count(rows.values()) for rows in trials], dtype=np.float64).reshape(-1, 3)
    return Decisions(*counted.T)


def confusion(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Baseline's decision -> vendor's decision -> how often, over rows of equal trial numbers."""
    counted = Counter((ours.decision, theirs.decision) for pair in pairs for ours, theirs in pair.rows())
    return {one: {other: counted[one, other] for other in KINDS} for one in KINDS}


def outcomes(rows: Iterable[ResultRow]) -> dict[str, Any]:
    """How rows ended; of failures what the problem was, of other ends the finish reason."""
    ended = list(rows)
    others = Counter(row.finish_reason or "?" for row in ended if row.outcome == "other")
    return {
        "rows": len(ended),
        "outcomes": dict(Counter(row.outcome for row in ended).most_common()),
        "problems": dict(Counter(row.problem or "?" for row in ended if row.decision == "none").most_common()),
        "other_finish_reasons": dict(others.most_common()),
    }


def _count(rows: Iterable[ResultRow]) -> tuple[int, int, int]:
    made = [row.decision for row in rows]
    failures = made.count("none")
    return made.count("tool_calls"), len(made) - failures, failures


def f1(tp: Any, fp: Any, fn: Any) -> Any:
    """The harmonic mean of precision and recall."""
    return 2 * tp / (2 * tp + fp + fn)


def chance_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The F1 that independent decisions at the same trigger rates would have."""
    cases, ours, theirs = tp + fp + fn + tn, tp + fn, tp + fp
    return 2 * ours * theirs / (cases * (ours + theirs))


def kappa(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """Cohen's kappa: the agreement beyond chance, 1 if perfect, 0 at chance, negative if worse.

    Source: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
    (1960), 37-46.
    """
    cases = tp + fp + fn + tn
    chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / cases**2
    return ((tp + tn) / cases - chance) / (1 - chance)


def table_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG001 - it has no part in F1
    """F1 of all four counts."""
    return f1(tp, fp, fn)


def excess_f1(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """By how much F1 is above chance."""
    return f1(tp, fp, fn) - chance_f1(tp, fp, fn, tn)


FIGURES: dict[str, Callable[..., Any]] = {"f1": table_f1, "kappa": kappa, "chance_f1": chance_f1}


@dataclass(frozen=True)
class Agreement:
    """Expected true and false triggers per case, the baseline's decisions taken for the truth.

    With one trial a side they are 0 or 1; with several, the share of pairs of trials of which it is so.
    """

    tp: Column
    fp: Column
    fn: Column
    tn: Column

    @property
    def table(self) -> tuple[Column, Column, Column, Column]:
        """For figures of all four."""
        return self.tp, self.fp, self.fn, self.tn

    @property
    def errors(self) -> tuple[Column, Column, Column]:
        """For figures that the true negatives play no part in."""
        return self.tp, self.fp, self.fn

    @property
    def cases(self) -> int:
        """Cases that were compared."""
        return int(sum(column.sum() for column in self.table) + 0.5)

    def only(self, chosen: Any) -> Agreement:
        """That of some cases; the others count nothing."""
        return Agreement(*(column * chosen for column in self.table))


def agreement(baseline: Decisions, vendor: Decisions, *, delivered: bool) -> Agreement:
    """Of the cases that the baseline answered and the vendor answered too (or, if ``delivered``, was asked)."""
    ours, theirs = baseline.shares(delivered=False), vendor.shares(delivered=delivered)
    known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = np.where(known, ours, 0.0), np.where(known, theirs, 0.0)
    return Agreement(
        tp=ours * theirs,
        fp=(1 - ours) * theirs * known,
        fn=ours * (1 - theirs) * known,
        tn=(1 - ours) * (1 - theirs) * known,
    )


def similarity(found: Agreement, bootstrap: CaseBootstrap) -> dict[str, Any]:
    """Precision, recall, F1 and what chance would give, each with its interval."""
    drawn = bootstrap.estimates(FIGURES, *found.table, n=found.cases)
    return {
        "cases": found.cases,
        **{name.upper(): float(getattr(found, name).sum()) for name in ("tp", "fp", "fn", "tn")},
        "precision": _share(found.tp, found.tp + found.fp).as_json(),
        "recall": _share(found.tp, found.tp + found.fn).as_json(),
        **{name: estimate.as_json() for name, estimate in drawn.items()},
    }


def _share(part: Column, whole: Column) -> Estimate:
    """A share over cases, with Wilson's interval at as many observations as there are cases in the whole."""
    n = int((whole > 0).sum())
    if n == 0:
        return Estimate(None, None, 0)
    value = min(1.0, float(part.sum() / whole.sum()))
    return Estimate(value, wilson_interval(value, n), n)
