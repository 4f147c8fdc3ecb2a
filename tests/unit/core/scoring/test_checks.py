"""Functions that look at a trial for its task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.scoring import context

from trialbed.records import Expected
from trialbed.scoring import run_checks


async def later(trial: Any) -> str:
    return "" if trial.text == "42" else "wrong"


def asserts(trial: Any) -> None:
    assert trial.text == "43", "it is not 43"


def breaks(_trial: Any) -> None:
    raise OSError("no database")


@pytest.mark.parametrize(
    ("check", "met", "says"),
    [
        (lambda trial: trial.text == "42", True, ""),
        (lambda _: False, False, "it is not"),
        (lambda _: None, True, ""),
        (lambda _: "too long", False, "too long"),
        (later, True, ""),
        (asserts, False, "it is not 43"),
        (breaks, None, "the check raised OSError: no database"),
        (lambda _: [1], None, "the check returned [1]; return a bool"),
        (lambda _: 5, None, "the check returned 5; return a bool"),
        (lambda _: 0, None, "the check returned 0; return a bool"),
    ],
)
async def test_a_check_says_whether_a_trial_is_right(check: Any, met: bool | None, says: str) -> None:
    found = context()
    expected = Expected(checks=("it", "missing"))
    found = replace(found, query=found.query.model_copy(update={"expected": expected}))
    (result,) = await run_checks({"it": check, "other": breaks}, found)
    assert (result.name, result.met) == ("it", met)
    assert result.reason.startswith(says)


async def test_a_task_without_checks_asks_none() -> None:
    assert await run_checks({"it": breaks}, context()) == ()
