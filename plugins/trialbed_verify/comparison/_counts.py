"""Answers counted per case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
