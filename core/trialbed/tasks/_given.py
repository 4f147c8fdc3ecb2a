"""Checks the values that tasks in Python are given, before queries are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.tasks._expect import Expect

LIMITS = ("most_calls", "most_requests", "most_tokens", "most_seconds")


def check_given(task: Any, where: str) -> None:
    """Check the kinds of the values of a ``Task``.

    Raises:
        UsageError: one of them is of another kind; names it.
    """
    if not isinstance(task.text, str) or not task.text.strip():
        raise UsageError(f"{where}: {task.text!r:.60} is not a task in words")
    _check(where, "tools", task.tools, task.tools is None or _is_list(task.tools), "a list of tools")
    _check(where, "answer", task.answer, isinstance(task.answer, str | None), "a text")
    _check(where, "id", task.id, isinstance(task.id, int | str | None) and task.id is not True, "a number or a text")
    if isinstance(task.expect, Expect):
        check_expect(task.expect, where)
    else:
        _check(where, "expect", task.expect, _are_texts(task.expect), "a text, a list of texts, or Expect(…)")
        check_facts(task.expect, where)
        _check(where, "calls", task.calls, _are_calls(task.calls), "a list of calls")


def check_expect(expect: Expect, where: str) -> None:
    """Check the kinds of the values of an ``Expect``, of a task or of one of its tests.

    Raises:
        UsageError: one of them is of another kind; names it.
    """
    _check(where, "calls", expect.calls, _are_calls(expect.calls), "a list of calls")
    ways = expect.ways
    _check(where, "ways", ways, not isinstance(ways, str) and isinstance(ways, Iterable), "a list of lists of calls")
    _check(where, "check", expect.check, callable(expect.check) or _are_checks(expect.check), "a function, or a list")
    _check(where, "criteria", expect.criteria, _are_texts(expect.criteria), "a text, or a list of texts")
    _check(where, "never", expect.never, isinstance(expect.never, Iterable), "a list of names")
    _check(where, "tests", expect.tests, _are_tests(expect.tests), "a dictionary: {name: Expect(…)}")
    for name in LIMITS:
        value = getattr(expect, name)
        is_limit = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        _check(where, name, value, value is None or is_limit, "a number from 0 on")


def check_facts(facts: str | Sequence[str], where: str) -> None:
    """Check that no fact is blank.

    Raises:
        UsageError: one is, which every answer would say, or none.
    """
    if not all(fact.strip() for fact in ([facts] if isinstance(facts, str) else facts)):
        raise UsageError(f"{where}: facts: {facts!r:.60}: a fact is a text that the answer must say, and is not blank")


def _check(where: str, name: str, value: Any, fits: bool, kind: str) -> None:
    if not fits:
        raise UsageError(f"{where}: {name}: {value!r:.60} is not {kind}")


def _is_list(value: Any) -> bool:
    return callable(value) or isinstance(value, Iterable)


def _are_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value))


def _are_calls(value: Any) -> bool:
    return value is None or (isinstance(value, Iterable) and not isinstance(value, str))


def _are_tests(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(test, Expect) for name, test in value.items()
    )


def _are_checks(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(callable, value))
