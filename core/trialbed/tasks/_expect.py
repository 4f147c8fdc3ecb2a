"""The expectations of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from trialbed.records import GoldCall, Json, ScriptedCall
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
