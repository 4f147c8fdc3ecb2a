"""The expectations of a task, and the checks of the values that tasks in Python are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import GoldCall, Json, ScriptedCall, User
from trialbed.tasks._functions import is_one_tool
from trialbed.wire import Call

Calls = Iterable[str | GoldCall | ScriptedCall | Call]

Check = Callable[[Any], Any]


@dataclass(frozen=True)
class Expect:
    """All expectations of a task, which is solved if a trial meets them.

    Attributes:
        facts: texts that the answer must say.
        calls: the calls that solve the task: ``call("find", id=7)``, or a tool's name if any arguments will do.
            Scripted models play these. Empty: a right agent calls nothing. None: nothing is said about calls.
        ways: other series of calls that also solve it.
        in_order: whether the calls are made in the given order; others may stand between them.
        only: whether no other calls are made.
        never: the names of tools that must not be called.
        state: the state after a right solution; None says nothing about it.
        most_calls, most_requests, most_tokens, most_seconds: the limits of a trial: calls of tools, requests to the
            model, tokens of all of them, and wall time.
        check: a function, or several, that look at the trial like scores do, and return a bool, or a text that names
            the fault. A failed ``assert`` is a fault, too.
        criteria: texts, such as "The answer is polite", which the judge's model finds true of the trial or not.
        tests: name -> further expectations, which are reported by their names.
    """

    facts: str | Sequence[str] = ()
    _: KW_ONLY
    calls: Calls | None = None
    ways: Iterable[Calls] = ()
    in_order: bool = False
    only: bool = False
    never: Iterable[str] = ()
    state: Json = None
    most_calls: int | None = None
    most_requests: int | None = None
    most_tokens: int | None = None
    most_seconds: float | None = None
    check: Check | Iterable[Check] = ()
    criteria: str | Sequence[str] = ()
    tests: Mapping[str, Expect] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """A message of the user in a task of several, with the expectations of the agent's work on it.

    Attributes:
        text: the message that agents get.
        expect: facts that the answer to it must say; or an ``Expect`` without a state, seconds and tests. Its calls are
            made before the next message.
        calls: like a ``Task``'s, for this message.
    """

    text: str
    _: KW_ONLY
    expect: str | Sequence[str] | Expect = ()
    calls: Calls | None = None


TEXTS = "a text that is not blank, or a list of such texts"

LIMITS = ("most_calls", "most_requests", "most_tokens", "most_seconds")

MOST_MESSAGES = 1000
"""Messages of a task with turns; each request has all that were said before."""


def check_given(task: Any, where: str) -> None:
    """Check the kinds of a ``Task``'s values.

    Raises:
        UsageError: a value is of another kind; names it.
    """
    _check(where, "user", task.user, isinstance(task.user, User | None), "a User(…)")
    if task.user and (task.text or task.turns):
        raise UsageError(f"{where}: give it one of text, turns and user; the goal of the user is the first message")
    if not (task.turns or task.user) and (not isinstance(task.text, str) or not task.text.strip()):
        raise UsageError(f"{where}: {task.text!r:.60} is not text; write the task in words")
    are_turns = isinstance(task.turns, list | tuple) and all(isinstance(turn, str | Turn) for turn in task.turns)
    _check(where, "turns", task.turns, are_turns, "a list of texts and Turn(…)s")
    if task.turns and task.text:
        raise UsageError(f"{where}: give it a text or turns, not both; the first turn is what the text would be")
    if len(task.turns) > MOST_MESSAGES:
        raise UsageError(f"{where}: turns: {len(task.turns):,} messages; a task has at most {MOST_MESSAGES:,}")
    least = max(len(task.turns), 2)
    fit = isinstance(task.lengths, list | tuple) and all(
        type(number) is int and least <= number <= MOST_MESSAGES for number in task.lengths
    )
    fit = fit and len({*task.lengths}) == len(task.lengths) and bool(task.turns or not task.lengths)
    words = f"a list of different numbers from {least} to {MOST_MESSAGES}, of a task with turns"
    _check(where, "lengths", task.lengths, fit, words)
    _check(where, "policy", task.policy, isinstance(task.policy, str), "a text")
    is_tools = task.tools is None or is_one_tool(task.tools) or isinstance(task.tools, Iterable)
    _check(where, "tools", task.tools, is_tools, "a list of tools")
    _check(where, "tags", task.tags, _are_texts(task.tags), TEXTS)
    _check(where, "answer", task.answer, isinstance(task.answer, str | None), "a text")
    _check(where, "id", task.id, isinstance(task.id, int | str | None) and task.id is not True, "a number or a text")
    is_expect = isinstance(task.expect, Expect) or _are_texts(task.expect)
    _check(where, "expect", task.expect, is_expect, f"{TEXTS}, or an Expect(…)")


def check_turn(turn: Turn, where: str) -> None:
    """Check the kinds of a ``Turn``'s values.

    Raises:
        UsageError: a value is of another kind; names it.
    """
    _check(where, "text", turn.text, isinstance(turn.text, str) and bool(turn.text.strip()), "a message in words")
    is_expect = isinstance(turn.expect, Expect) or _are_texts(turn.expect)
    _check(where, "expect", turn.expect, is_expect, f"{TEXTS}, or an Expect(…)")


def check_expect(expect: Expect, where: str) -> None:
    """Check the kinds of an ``Expect``'s values, in a task or a test.

    Raises:
        UsageError: a value is of another kind; names it.
    """
    for name in ("facts", "criteria"):
        _check(where, name, getattr(expect, name), _are_texts(getattr(expect, name)), TEXTS)
    calls, ways, never = expect.calls, expect.ways, expect.never
    _check(where, "calls", calls, calls is None or _is_list(calls), "a list of calls")
    _check(where, "ways", ways, _is_list(ways), "a list of lists of calls")
    _check(where, "check", expect.check, callable(expect.check) or _are_checks(expect.check), "a function, or a list")
    _check(where, "never", never, _is_list(never), "a list of names")
    tests = expect.tests if isinstance(expect.tests, Mapping) else {"": None}
    are_tests = all(isinstance(name, str) and isinstance(test, Expect) for name, test in tests.items())
    _check(where, "tests", expect.tests, are_tests, "a dictionary: {name: Expect(…)}")
    for name in LIMITS:
        value = getattr(expect, name)
        is_limit = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        _check(where, name, value, value is None or is_limit, "a number from 0 on")


def _check(where: str, name: str, value: Any, fits: bool, kind: str) -> None:
    if not fits:
        raise UsageError(f"{where}: {name}: {value!r:.60} is not {kind}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _are_texts(value: Any) -> bool:
    texts = [value] if isinstance(value, str) else value
    return isinstance(texts, list | tuple) and all(isinstance(text, str) and text.strip() for text in texts)


def _are_checks(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(callable, value))
