"""The expectations of a task, whether a trial meets them, and the functions that look at it for the task."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from trialbed.contracts import Judge
from trialbed.errors import JudgeError
from trialbed.evidence import carries
from trialbed.records import ApiRef, Expected, GoldCall, Query, TaskTest
from trialbed.scoring._context import CheckResult, ScoreContext
from trialbed.tool_calls import UNSEEN, WRITTEN, Accepted, is_written, why_unobservable
from trialbed.tracebacks import exception_text, own_line
from trialbed.wire_log import observed_usage

SHOWN = 5
"""Calls that are listed in a reason."""
NOT_OFFERED = "(no request offers it)"
"""The end of an expectation's text if it cannot fail because the agent has no such tool."""

NOT_ASKED = "the judge was not asked: the task is unsolved without it"


@dataclass(frozen=True)
class Expectation:
    """One thing that a task expects, and whether the trial meets it.

    Attributes:
        text: in words.
        reason: why it is not met, or not known; empty if it is met, or if the text says enough.
        met: None if it is not known.
        denial: that it is not met, in a complete sentence; empty if text and reason say it.
    """

    text: str
    reason: str = ""
    met: bool | None = True
    denial: str = ""

    @property
    def finding(self) -> str:
        """That it is not met, or not known, and why."""
        return self.denial or f"{self.text}: {self.reason}"


def expectations(context: ScoreContext) -> tuple[Expectation, ...]:
    """Return all that a trial's task expects, each with whether it is met; empty if it leaves that to the judge."""
    expected = context.query.expected
    return () if expected is None else tuple(_all(context, expected))


def has_expectations(query: Query) -> bool:
    """Return whether a task has expectations, which decide in the place of the judge ``rule``."""
    expected = query.expected
    stated = query.reference_facts or query.states_calls or query.final_state is not None
    return expected is not None and bool(stated or expected != Expected())


def undecided_criteria(context: ScoreContext) -> frozenset[str]:
    """Return the criteria that decide the outcome of the task, or of its tests.

    If something else is not met, the task's own criteria change nothing; a test's criteria decide its own outcome.
    """
    expected = context.query.expected
    if expected is None:
        return frozenset()
    missed = any(one.met is False for one in _all(context, expected))
    open_tests = (test for test in expected.tests if _test(context, test).met is not False)
    of_tests = {text for test in open_tests for text in test.expected.criteria}
    return frozenset(of_tests if missed else of_tests.union(expected.criteria))


def _all(context: ScoreContext, expected: Expected) -> Iterator[Expectation]:
    query = context.query
    for fact in query.reference_facts:
        said = carries(context.text, fact)
        yield _weigh(f"the answer says {fact!r}", said, denial=f"the answer does not say {fact!r}")
    if query.states_calls:
        yield _calls(context, expected)
    for api in expected.never:
        yield never_called(context, api)
    if query.final_state is not None:
        found = context.wire.state
        wrong = f"the final state is {found!r:.200}, which is not expected"
        wrong = "a final state is expected, and none of the tools keeps one" if found is None else wrong
        if found is None and (context.wire.own_tools or context.unobserved):
            yield Expectation("the final state", "the state of the agent's own tools is not observed", met=None)
        else:
            yield _weigh("the final state", found == query.final_state, f"{found!r:.200}", wrong)
    yield from _bounds(context, expected)
    results = {result.name: result for result in context.checks}
    # The comparison of calls says what functions in their arguments found.
    within = {name for name, result in results.items() if result.accepted is not None}
    for name in (one for one in (*expected.checks, *map(criterion_name, expected.criteria)) if one not in within):
        result = results.get(name, CheckResult(name, None, "only the run itself can ask it"))
        yield Expectation(name, result.reason if not result.met else "", result.met)
    for test in expected.tests:
        yield _test(context, test)


def never_called(context: ScoreContext, api: ApiRef) -> Expectation:
    """Return whether a tool was not called; this is not known if nothing could have shown that it was."""
    name = api.api_name
    text = f"{name} is not called"
    if made := [call for call in context.calls if call.api == api]:
        times = f" {len(made)} times" if len(made) > 1 else ""
        return Expectation(text, met=False, denial=f"{name} was called{times}")
    if any(call.api == api and call.problem == UNSEEN for call in context.asked):
        return Expectation(text, f"the model asked for {name}, and {UNSEEN}", met=None)
    if problem := why_unobservable(api, context.query, context.wire, handed_over=context.takes_tools):
        # An agent without the tool cannot call it; without requests, its calls are not known.
        if is_written(api, context.query, context.wire):
            return Expectation(text, f"whether {name} was called is not observed: {WRITTEN}", met=None)
        sent = bool(context.wire.model_calls)
        return Expectation(f"{text} {NOT_OFFERED}") if sent else Expectation(text, problem, met=None)
    return Expectation(text)


def _test(context: ScoreContext, test: TaskTest) -> Expectation:
    """Return whether the trial, or the test's turn, meets all expectations of a test."""
    if test.turn:
        sent = len(context.wire.turns)
        if test.turn > sent:
            return Expectation(test.name, f"the conversation ended with message {sent} of the user", met=False)
        whole, context = context.wire, context.of_turn(test.turn)
    own = {
        "reference_facts": test.facts,
        "gold_calls": test.calls,
        "states_calls": test.states_calls,
        "final_state": test.final_state,
        "expected": test.expected,
    }
    found = expectations(replace(context, query=context.query.model_copy(update=own)))
    unmet = [one for one in found if one.met is False] or [one for one in found if one.met is None]
    reason = "; ".join(one.finding for one in unmet)
    if test.turn and unmet:
        from trialbed.history import find_forgotten  # only conversations need it

        facts = [fact for fact in test.facts if not carries(context.text, fact)]
        forgotten = find_forgotten(whole, test.turn, facts) if facts else None
        reason += f"; {forgotten[0]}" if forgotten else ""
    return Expectation(test.name, reason, unmet[0].met if unmet else True)


def _weigh(text: str, met: bool, reason: str = "", denial: str = "") -> Expectation:
    return Expectation(text) if met else Expectation(text, reason, met=False, denial=denial)


def _bounds(context: ScoreContext, expected: Expected) -> Iterator[Expectation]:
    usage = observed_usage(context.wire)
    seconds = context.timing.wall - context.timing.waiting
    bounds: tuple[tuple[str, float | None, float | None], ...] = (
        ("calls of tools", expected.most_calls, None if context.unobserved else len(context.calls)),
        ("requests to the model", expected.most_requests, len(context.wire.model_calls)),
        ("tokens", expected.most_tokens, None if usage is None else usage.total_tokens),
        ("seconds", expected.most_seconds, round(seconds, 3)),
    )
    for unit, most, found in bounds:
        if most is not None:
            text = f"at most {most:,g} {unit}"
            if found is None:
                why = "not all of them are observed" if unit == "calls of tools" else "the model did not report them"
                yield Expectation(text, why, met=None)
            else:
                yield _weigh(text, found <= most, f"there are {found:,g}", f"{found:,g} {unit}, of at most {most:,g}")


def _calls(context: ScoreContext, expected: Expected) -> Expectation:
    """Return the expectation of the calls; of several ways, it is for a way that is met, or else the nearest."""
    best = min((_way(way, context, expected) for way in (context.query.gold_calls, *expected.ways)), key=len)
    text, faults = "the expected calls" + (", in their order" if expected.in_order else ""), "; ".join(best[:SHOWN])
    if context.unobserved and (best or not context.query.gold_calls):
        why = WRITTEN if context.wire.model_calls else "the agent takes no tools and sent no model request"
        return Expectation(text, faults if context.asked else f"no calls are observed: {why}", met=None)
    return _weigh(text, not best, faults, faults)


def _way(way: Sequence[GoldCall], context: ScoreContext, expected: Expected) -> list[str]:
    """Return the faults of a series of calls, in words."""
    from trialbed.tool_calls import align_gold_calls  # many tasks expect no calls

    aligned = align_gold_calls(way, context.asked, context.tools)
    problems = [one.fault for one in aligned.gold if not one.right]
    stand = [(one.gold.api.api_name, one.call, one.right) for one in aligned.gold if one.call is not None]
    refused = [(name, call.problem) for name, call, right in stand if right and not call.accepted]
    unseen = "the result of {} is not observed"
    problems += [unseen.format(name) if why == UNSEEN else f"{name} failed: {why}" for name, why in refused]
    if expected.only or not way:
        made = {(call.api, call.signature) for _, call, _ in stand}
        # A failed call and its successful repetition are not two calls.
        others = [call for call in aligned.others if call.accepted or (call.api, call.signature) not in made]
        problems += [f"{call.name} is not expected" for call in others]
    left = iter(context.asked)
    for gold in way if expected.in_order and not problems else ():
        alone = (align_gold_calls([gold], [call], context.tools).gold[0].right for call in left if call.accepted)
        if not any(alone):
            return [f"{gold.api.api_name} is called too early"]
    return problems


def criterion_name(text: str) -> str:
    """Return the name of a criterion among the results of checks."""
    return f"criterion: {text}"


async def run_criteria(judge: Judge, context: ScoreContext, asked: Collection[str]) -> tuple[CheckResult, ...]:
    """Return the findings of a judge on each criterion of a trial's task; missing ones are unknown.

    Known findings of the context are not asked for again.

    Args:
        asked: the criteria that the judge may be asked for.
    """
    expected = context.query.expected
    known = {result.name: result for result in context.checks if result.met is not None}
    found = []
    for text in () if expected is None else expected.all_criteria:
        name = criterion_name(text)
        result = known.get(name, CheckResult(name, None, NOT_ASKED))
        if name not in known and text in asked:
            try:
                verdict = await judge.meets(text, context.query, context.answer, context.asked_wire)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - a judge is foreign code
                kind = "" if isinstance(error, JudgeError) else f"{type(error).__name__}: "
                result = CheckResult(name, None, f"judge {context.judge_name}: {kind}{error}")
            else:
                met, reason = None if verdict.status == "Unsure" else verdict.status == "Solved", verdict.reason
                if met is None:
                    reason = f"judge {context.judge_name} is unsure: {reason}"
                elif verdict.agreement != 1:
                    reason += f" ({verdict.votes.count(verdict.status)} of {len(verdict.votes)} votes)"
                result = CheckResult(name, met, reason[:1000])
        found.append(result)
    return tuple(found)


Check = Callable[[ScoreContext], Any]
"""A function that checks if a trial is right: a bool, None for yes, or a text about the fault; may be ``async``."""

SECONDS = 60.0
"""That one check may take."""


async def run_checks(checks: Mapping[str, Check], context: ScoreContext) -> tuple[CheckResult, ...]:
    """Return the results of the checks that the task of a trial names; unavailable checks are skipped.

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
        from trialbed.foreign_code import ForeignCode  # most tasks have no functions that check

        found = await ForeignCode(check).do(partial(_call, check, context), SECONDS)
    except AssertionError as error:
        return CheckResult(name, False, str(error)[:1000] or "an assertion failed" + own_line(check.__module__, error))
    except Exception as error:  # noqa: BLE001 - the user's code
        return CheckResult(name, None, f"the check raised {exception_text(error, check)}")
    if isinstance(found, str):
        return CheckResult(name, not found, found[:1000])
    if isinstance(found, Accepted):
        return CheckResult(name, bool(found), accepted=found)
    if found is None or isinstance(found, bool):
        met = found is not False
        return CheckResult(name, met, "" if met else "it is not")
    return CheckResult(name, None, f"the check returned {found!r:.60}; return a bool, or a text that names the fault")
