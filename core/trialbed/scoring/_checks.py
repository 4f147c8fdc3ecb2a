"""Functions that look at a trial for its task, and say whether it is right."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trialbed.own_thread import do_alone
from trialbed.scoring._context import CheckResult, ScoreContext
from trialbed.tracebacks import own_line

Check = Callable[[ScoreContext], Any]
"""Returns whether a trial is right: a bool, None for yes, or a text that names the fault; may be ``async``."""

SECONDS = 60.0
"""That one check may take."""


async def run_checks(checks: Mapping[str, Check], context: ScoreContext) -> tuple[CheckResult, ...]:
    """Return the results of the checks that the task of a trial names; those that are not given are left out.

    An ``AssertionError`` says that the trial is wrong. Any other exception is a fault of the check.
    """
    expected = context.query.expected
    names = () if expected is None else expected.all_checks
    return tuple([await _run(name, checks[name], context) for name in names if name in checks])


def _call(check: Check, context: ScoreContext) -> Any:
    found = check(context)
    return asyncio.run(found) if inspect.iscoroutine(found) else found


async def _run(name: str, check: Check, context: ScoreContext) -> CheckResult:
    try:
        found = await do_alone(partial(_call, check, context), SECONDS, check)
    except AssertionError as error:
        return CheckResult(name, False, str(error)[:1000] or "an assertion failed" + own_line(check.__module__, error))
    except Exception as error:  # noqa: BLE001 - the user's code
        line = own_line(getattr(check, "__module__", "") or "", error)
        return CheckResult(name, None, f"the check raised {type(error).__name__}: {str(error)[:1000]}{line}")
    if isinstance(found, str):
        return CheckResult(name, not found, found[:1000])
    if found is None or isinstance(found, bool):
        met = found is not False
        return CheckResult(name, met, "" if met else "it is not")
    return CheckResult(name, None, f"the check returned {found!r:.60}; return a bool, or a text that names the fault")
