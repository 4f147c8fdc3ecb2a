"""Many cases of one property in one test: a test for each would take longer to find and report than to run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., Any]

FAILED = (Exception, pytest.fail.Exception)
"""What a case fails with."""

NAMED = type(pytest.param())


def for_each(names: str | Sequence[str], cases: Iterable[Any], *, ids: object = None) -> Callable[[Test], Test]:
    """As ``pytest.mark.parametrize``, but one test for all cases; it runs them all, and fails with those that fail."""
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    every = [dict(zip(keys, _values(case, len(keys)), strict=True)) for case in cases]

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in keys]

        @wraps(test)
        def run_all(*arguments: Any, **fixtures: Any) -> None:
            failed = [error for case in every if (error := _error(test, arguments, fixtures, case)) is not None]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(every)} cases fail", failed)

        run_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run_all

    return decorate


def _values(case: Any, count: int) -> Sequence[Any]:
    if isinstance(case, NAMED):
        assert not case.marks, "a case cannot have a mark of its own"
        return tuple(case.values)
    return case if count > 1 else (case,)


def _error(
    test: Test, arguments: Sequence[Any], fixtures: dict[str, Any], case: dict[str, Any]
) -> BaseException | None:
    try:
        test(*arguments, **fixtures, **case)
    except FAILED as error:
        error.add_note(f"case: {case!r}"[:1000])
        return error
    return None
