"""How alike two sides decide whether to call tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trialbed.statistics import CaseBootstrap, Estimate, wilson_interval
from trialbed_verify.comparison._counts import Column, Decisions


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
