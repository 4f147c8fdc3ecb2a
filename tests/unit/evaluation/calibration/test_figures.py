from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each

from trialbed_evaluation.calibration import CaseFinding, calibration, kappa_interval


def findings(**counts: int) -> list[CaseFinding]:
    """``Solved_Unsure=2`` is two cases with the label Solved and the verdict Unsure."""
    return [
        CaseFinding.model_validate(
            {"id": f"{pair}{number}", "label": label, "found": None if found == "none" else found}
        )
        for pair, count in counts.items()
        for label, _, found in [pair.partition("_")]
        for number in range(count)
    ]


def test_figures_of_a_known_table() -> None:
    # Cohen's own example form: 50 cases, observed agreement 0.7, chance agreement 0.5.
    found = calibration(
        findings(Solved_Solved=20, Solved_Unsolved=5, Unsolved_Solved=10, Unsolved_Unsolved=15),
        labels="x",
        labels_digest="d",
    )
    assert found is not None
    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    # Wilson's interval of 35 of 50 is [0.5625, 0.8090]; chance agreement is 0.5.
    assert (found.kappa_low, found.kappa_high) == (pytest.approx(0.125, abs=1e-3), pytest.approx(0.618, abs=1e-3))
    assert found.accuracy_low < 0.7 < found.accuracy_high
    assert found.confusion["Unsolved"] == {"Solved": 10, "Unsure": 0, "Unsolved": 15}


def test_cases_without_a_verdict_count_in_no_figure() -> None:
    found = calibration(findings(Solved_Solved=3, Unsolved_none=2), labels="x", labels_digest="d")
    assert found is not None
    assert (found.cases, found.failures, found.accuracy) == (3, 2, 1.0)
    assert calibration(findings(Solved_none=2), labels="x", labels_digest="d") is None


@for_each(
    ("pairs", "kappa"),
    [
        ([("Solved", "Solved")] * 4, None),
        ([("Solved", "Solved"), ("Unsolved", "Unsolved")] * 4, 1.0),
        ([("Solved", "Unsolved"), ("Unsolved", "Solved")] * 4, -1.0),
    ],
)
def test_the_ends_of_kappa(pairs: list[Any], kappa: float | None) -> None:
    found, interval = kappa_interval(pairs)
    assert found == (kappa if kappa is None else pytest.approx(kappa))
    assert interval is None or interval.low <= (found or 0) <= interval.high
