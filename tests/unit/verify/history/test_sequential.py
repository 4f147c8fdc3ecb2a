"""A change is found and dated; without one, alarms are as rare as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import for_each

from trialbed_verify.history._sequential import CATEGORY_PLACES, Night, e_value, sequential_test

CASES, PLACES = 80, CATEGORY_PLACES + 3
SHARES = np.where(np.arange(CASES) % 5 == 0, 0.5, (np.arange(CASES) % 2).astype(float))


def night(
    random: np.random.Generator,
    wrong: float = 0.0,
    trials: int = 2,
    *,
    prompt: int = 100,
    tokens: float = 1.0,
    times: float = 1.0,
) -> Night:
    """Answers of a vendor that calls the wrong tool in a share of its calls; tokens and times are multiples."""
    calls = random.random((CASES, trials)) < SHARES[:, None]
    found = np.zeros((CASES, trials, PLACES), dtype=np.int64)
    found[:, :, 0] = found[:, :, 3] = 1 + calls
    found[:, :, 1] = np.where(calls, 5 + (random.random((CASES, trials)) < wrong), 0)
    found[:, :, 16] = prompt
    for place, factor in ((1, tokens), (2, times)):
        level = np.log(factor) + random.normal(6, 0.3, (CASES, trials))
        found[:, :, CATEGORY_PLACES + place] = np.round(1000 * level)
    return found


def test_a_change_is_found_and_dated() -> None:
    random = np.random.default_rng(2)
    nights = [night(random) for _ in range(6)] + [night(random, wrong=0.4) for _ in range(3)]
    readings, changes = sequential_test(nights, 100, 0)
    assert readings[0].p is None
    assert [change.since for change in changes] == [6]
    assert changes[0].found in (6, 7)
    assert changes[0].subjects[0] == "tools"


@for_each(
    ("changed", "subject"),
    [({"prompt": 110}, "prompt-tokens"), ({"tokens": 1.3}, "completion-tokens"), ({"times": 2.0}, "slower")],
)
def test_more_tokens_and_longer_times_are_found(changed: dict[str, float], subject: str) -> None:
    random = np.random.default_rng(2)
    nights = [night(random) for _ in range(6)] + [night(random, **changed) for _ in range(6)]
    _, changes = sequential_test(nights, 100, 0)
    assert changes[0].since == 6
    assert changes[0].subjects[0] == subject


def test_nights_that_are_busier_by_a_tenth_are_no_change() -> None:
    random = np.random.default_rng(4)
    nights = [night(random, times=factor) for factor in (1.0, 1.1, 0.95, 1.1, 1.0, 0.9, 1.1, 1.05, 0.95)]
    assert sequential_test(nights, 100, 0)[1] == []


def test_false_alarms_are_as_rare_as_they_are_said_to_be() -> None:
    """One in 50 verifications at most, on average: 240 without a change give fewer than ten."""
    alarms = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        alarms += len(sequential_test([night(random) for _ in range(20)], 50, seed)[1])
    assert alarms <= 9


def test_p_values_of_an_unchanged_vendor_are_spread_evenly() -> None:
    found = []
    for seed in range(10):
        random = np.random.default_rng(100 + seed)
        found += [reading.p for reading in sequential_test([night(random) for _ in range(12)], 1e9, seed)[0]]
    known = np.array([p for p in found if p is not None])
    assert 0.4 < known.mean() < 0.7
    assert (known <= 0.05).mean() <= 0.12


@pytest.mark.parametrize("trials", [1, 3])
def test_a_vendor_that_always_answers_alike_is_unchanged(trials: int) -> None:
    same = np.ones((CASES, trials, PLACES), dtype=np.int64)
    readings, changes = sequential_test([same] * 5, 100, 0)
    assert changes == []
    assert [reading.p for reading in readings[1:]] == [1.0] * 4


def test_nothing_and_one_verification_tell_nothing() -> None:
    assert sequential_test([], 100, 0) == ([], [])
    (reading,), changes = sequential_test([night(np.random.default_rng(1))], 100, 0)
    assert (reading.p, reading.evidence, changes) == (None, 0.0, [])


def test_an_e_value_is_at_most_one_on_average() -> None:
    """What is missing of 1 is in smaller p-values than are taken here."""
    values = [e_value(p) for p in np.arange(0.0005, 1, 0.001)]
    assert 0.85 < np.mean(values) <= 1.0
    assert e_value(1.0) == 0.5
    assert e_value(0.0001) > 100
