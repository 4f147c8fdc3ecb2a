from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trialbed.statistics import CaseBootstrap, Estimate


def mean(total: Any, count: Any) -> Any:
    return total / count


def test_the_interval_of_a_mean_is_that_of_theory() -> None:
    values = np.random.default_rng(1).normal(10, 2, size=400)
    found = CaseBootstrap(400, resamples=4000).estimate(mean, values, np.ones(400))
    assert found.value == pytest.approx(float(values.mean()))
    assert found.interval is not None
    half = 1.96 * float(values.std()) / 20
    assert found.interval.low == pytest.approx(float(values.mean()) - half, abs=0.03)
    assert found.interval.high == pytest.approx(float(values.mean()) + half, abs=0.03)
    assert found.n == 400


def test_trials_of_one_case_are_drawn_together() -> None:
    """Ten equal trials of each of 40 cases are 40 observations, not 400."""
    values = np.random.default_rng(2).normal(size=40)
    once = CaseBootstrap(40).estimate(mean, values, np.ones(40))
    tenfold = CaseBootstrap(40).estimate(mean, values * 10, np.full(40, 10.0))
    assert tenfold.interval == pytest.approx(once.interval)


def test_every_resample_has_as_many_cases_as_there_are() -> None:
    for cases in (1, 3, 700):
        sums = CaseBootstrap(cases, resamples=300).sums(np.ones((cases, 1)))
        assert sums.shape == (300, 1)
        assert (sums == cases).all()


def test_the_same_seed_gives_the_same_draws_and_figures_are_drawn_in_pairs() -> None:
    columns = np.stack([np.arange(50.0), np.arange(50.0) + 3, np.ones(50)], axis=1)
    sums = CaseBootstrap(50, seed=1).sums(columns)
    assert (sums == CaseBootstrap(50, seed=1).sums(columns)).all()
    assert (sums != CaseBootstrap(50, seed=2).sums(columns)).any()
    assert sums[:, 1] - sums[:, 0] == pytest.approx(np.full(2000, 150.0))


def test_what_is_undefined_is_missing() -> None:
    found = CaseBootstrap(3).estimate(mean, np.zeros(3), np.zeros(3), n=0)
    assert found == Estimate(None, None, 0)
    assert found.as_json() == {"value": None, "low": None, "high": None, "n": 0}


def test_a_figure_that_most_resamples_cannot_tell_has_no_interval() -> None:
    one_of_many = np.zeros(50)
    one_of_many[7] = 1.0
    found = CaseBootstrap(50).estimate(mean, one_of_many * 5, one_of_many)
    assert found.value == 5.0
    assert found.interval is None


def test_several_figures_are_those_told_singly() -> None:
    columns = (np.arange(30.0), np.ones(30))
    bootstrap = CaseBootstrap(30)
    both = bootstrap.estimates({"mean": mean, "total": lambda total, count: total + 0 * count}, *columns)
    assert both["mean"] == bootstrap.estimate(mean, *columns)
    assert both["total"].value == 435.0
