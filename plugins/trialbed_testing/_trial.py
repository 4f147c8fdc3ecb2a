"""The trial as a test sees it, with conditions that explain themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import Answer, ApiCall, ApiRef, Failure, Json, TrialResult, score_key, shown_name
from trialbed.suggestions import closest, did_you_mean
from trialbed.texts import number_of
from trialbed.tool_calls import UNSEEN, why_unobservable
from trialbed.wire import recorded_request
from trialbed_testing._single import SingleTrial

SHOWN = 12
"""Most calls that an explanation lists."""

LONGEST = 300
"""Longest call in an explanation, in characters."""


class Condition:
    """A true or false statement about a trial. Its representation says why.

    ``assert condition`` shows it on failure.
    """

    def __init__(self, met: bool, text: str) -> None:
        self.met = met
        self.text = text

    def __bool__(self) -> bool:
        return self.met

    def __repr__(self) -> str:
        return f"<{self.text}>"


class CallsMade(Condition):
    """The calls to one tool in a trial, in order; true if there are any.

    Conditions chain: ``called("refund").after("find_order").times(1)`` is true if both hold.

    Attributes:
        places: the positions of the calls among all calls of the trial, counted from 0.
    """

    def __init__(self, trial: ObservedTrial, name: str, arguments: Mapping[str, Json]) -> None:
        self._trial = trial
        self._name = name
        self._wanted = call_text(name, arguments)[:LONGEST]
        self._chained = False
        trial.check_tool(name)
        self.places = [place for place, call in enumerate(trial.calls) if _is_call(call, name, arguments)]
        verb = f"was called {_times(len(self.places))}" if len(self.places) > 1 else "was called"
        super().__init__(bool(self.places), self._explain(verb) if self.places else self._lacking("was not called"))

    def before(self, tool: str, /, **arguments: Json) -> CallsMade:
        """Return whether the first call came before the first call to another tool. Both must have been called."""
        return self._ordered(CallsMade(self._trial, tool, arguments), "before")

    def after(self, tool: str, /, **arguments: Json) -> CallsMade:
        """Return whether the first call came after the first call to another tool. Both must have been called."""
        return self._ordered(CallsMade(self._trial, tool, arguments), "after")

    def times(self, count: int) -> CallsMade:
        """Return whether there were exactly ``count`` calls."""
        found = len(self.places)
        if found >= count:
            otherwise = "" if found == count else f", not {_times(count)}"
            return self._and(found == count, self._explain(f"was called {_times(found)}{otherwise}"))
        return self._and(False, self._lacking(f"was called {_times(found)}, not {_times(count)}"))

    def _ordered(self, other: CallsMade, word: str) -> CallsMade:
        if not (self.places and other.places):
            return self._and(False, other.text if self.places else self._lacking("was not called"))
        first, second = self.places[0], other.places[0]
        met = first < second if word == "before" else first > second
        return self._and(met, self._explain(f"was {'' if met else 'not '}called {word} {other._wanted}"))

    def _and(self, met: bool, text: str) -> CallsMade:
        """Return the same calls with a further condition. The first failing condition is the one explained."""
        if self._chained and not self.met:
            return self
        further = copy(self)
        further.met, further.text, further._chained = met, text, True
        return further

    def _lacking(self, text: str) -> str:
        """Explain a missing call and, if it was expected, how it was lost."""
        lost = self._trial.lost(self._name)
        return self._explain(text) + (f"; {lost}" if lost else "")

    def _explain(self, text: str) -> str:
        calls = [_call_with_refusal(call) for call in self._trial.calls]
        more = [f"and {len(calls) - SHOWN} more"] if len(calls) > SHOWN else []
        return f"{self._wanted} {text}; calls: {', '.join([*calls[:SHOWN], *more]) or 'none'}"


class ObservedTrial:
    """A trial of an agent, as recorded on the wire.

    Args:
        whole: the trial that contains this one, if this is one turn.

    Attributes:
        single: the complete trial as records.
    """

    def __init__(self, single: SingleTrial, whole: ObservedTrial | None = None) -> None:
        self.single = single
        self.whole = whole

    @property
    def result(self) -> TrialResult:
        """The trial as a record, with its wire log and scores."""
        return self.single.result

    @property
    def answer(self) -> str:
        """The agent's answer in words; empty if there was no answer."""
        answer = self.result.outcome.answer
        return "" if answer is None else answer.final_answer

    @property
    def calls(self) -> Sequence[ApiCall]:
        """Every tool call that the server saw, in order, each with ``arguments``, ``response`` and ``error``."""
        return self.result.wire.api_calls

    @property
    def failure(self) -> Failure | None:
        """The reason the trial failed; None if it did not."""
        return self.result.outcome.failure

    @property
    def requests(self) -> int:
        """The number of requests to the model."""
        return len(self.result.wire.model_calls)

    @property
    def turns(self) -> list[ObservedTrial]:
        """The agent's work on each message of the user in a conversation: its answer, calls and requests."""
        result, found = self.result, []
        for number, turn in enumerate(result.wire.turns, 1):
            answer = Answer(final_answer=turn.answer or "")
            failure = result.failure if turn.answer is None else None
            outcome = result.outcome.model_copy(update={"answer": answer, "failure": failure})
            part = result.model_copy(update={"outcome": outcome, "wire": result.wire.of_turn(number), "scores": ()})
            found.append(ObservedTrial(replace(self.single, result=part), self))
        return found

    @property
    def solved(self) -> Condition:
        """Whether the trial meets everything the task expects, or else whether the judge considers the task solved."""
        if self.failure is not None:
            return Condition(False, f"unsolved, since the trial failed: {self.failure.message}")
        score = self.result.score("sopr_score")
        if score is None or score.value is None:
            why = "nothing says whether it is" if score is None or score.failure is None else score.failure.message
            return Condition(False, f"not known to be solved: {why}")
        word = (score.label or "").lower() or ("solved" if score.value == 1 else "unsolved")
        text = f"{word}: {score.detail.get('reason', '')}"
        lost = "" if score.value == 1 else self.lost()
        return Condition(score.value == 1, f"{text}; {lost}" if lost else text)

    def lost(self, tool: str | None = None) -> str:
        """Explain the loss of the first lost call, of any tool or a given one; empty if no expected call was lost."""
        for found in self.result.gold_calls or ():
            api = found.gold.api
            if found.lost is not None and tool in (None, api.api_name, api.title):
                return f"{api.api_name}: {found.lost}: {found.reason}"
        return ""

    def called(self, tool: str, /, **arguments: Json) -> CallsMade:
        """Return the calls to a tool that have these arguments, and maybe others. Failed calls are included.

        Raises:
            UsageError: the trial has no tool with this name, and the name was never called.
        """
        return CallsMade(self, tool, arguments)

    def check_tool(self, name: str) -> None:
        """Reject a tool whose calls the trial could not show: "not called" would always be true.

        Raises:
            UsageError: the trial has no such tool, or its calls are not observable.
        """
        if self.whole is not None:  # an agent may offer other tools in each turn
            self.whole.check_tool(name)
            return
        _check_texts("called", name)
        query, run = self.single.query, self.single.run
        apis = [*(tool.api for tool in self.single.tools), *(api.ref for api in query.apis)]
        known = {word: api for api in reversed(apis) for word in (api.api_name, api.title)}
        if name in self._called_names():
            return
        api = known.get(name) or ApiRef(category="", tool_name="", api_name=name)
        takes_tools = run.takes_tools(self.result.key.framework)
        problem = why_unobservable(api, query, self.result.wire, handed_over=takes_tools)
        is_served = takes_tools and bool(api.category or api.tool_name)
        sent = {call.name for turn in self.result.wire.model_calls for call in turn.tool_calls if call.problem is None}
        if name in sent and not is_served:  # and none of its calls has a result
            raise UsageError(f"whether {name} was called is not observed: the model asked for it, and {UNSEEN}")
        if not problem:
            return
        if name in known or not known:
            raise UsageError(problem)
        turns = self.result.wire.model_calls
        others = {word for turn in turns if (request := recorded_request(turn)) for word in request.names} - {*known}
        shown = ", ".join(sorted({*others, *(api.api_name for api in apis)}))
        close = did_you_mean(closest(name, {*known, *others}))
        raise UsageError(f"the trial has no tool {name!r}{close} Its tools are {shown}")

    def _called_names(self) -> set[str]:
        """Return the names used in tool calls, including names that a model made up."""
        made = {word for call in self.calls for word in (call.api.api_name, call.api.title)}
        sent = (call for turn in self.result.wire.model_calls for call in (*turn.tool_calls, *turn.text_calls))
        return made | {call.name for call in sent if call.problem == "unknown tool"}

    def said(self, *texts: str) -> Condition:
        """Return whether the answer says each of these texts."""
        from trialbed.evidence import carries

        _check_texts("said", *texts)
        missing = [text for text in texts if not carries(self.answer, text)]
        verb = f"lacks {', '.join(map(repr, missing))}" if missing else "says it"
        return Condition(not missing, f"the answer {verb}: {self.answer!r:.300}")

    def score(self, name: str) -> float | None:
        """Return the value of a score, by either of its names, or None if it has no value.

        Raises:
            UsageError: there is no such score.
        """
        score = self.result.score(score_key(name))
        if score is None:
            self._check_score(name)
        return None if score is None else score.value

    def _check_score(self, name: str) -> None:
        from trialbed.plugins import described_scores

        described, complete = described_scores()
        known = {*described, *(score.name for score in self.result.scores)}
        close = closest(name, {*known, *map(shown_name, known)})
        # A failed trial has no scores, so scores without a description are unknown.
        if score_key(name) in known or not (close or complete or self.failure is None):
            return
        shown = ", ".join(sorted(map(shown_name, known)))
        raise UsageError(f"there is no score {name!r}{did_you_mean(close)} The scores are {shown}")

    def timeline(self) -> str:
        """Format the trial as ``bench show`` does."""
        from trialbed.cli.show_trial import trial_text

        return trial_text(self.single.run, self.result, self.single.tools, self.single.query)

    def __repr__(self) -> str:
        state = self.result.status if self.failure is None else f"failed: {self.failure.message}"
        calls, requests = number_of(len(self.calls), "call"), number_of(self.requests, "request")
        return f"<trial of {self.result.key.framework}: {state}, {calls}, {requests}>"


def _check_texts(method: str, *given: object) -> None:
    for one in given:
        if not isinstance(one, str):
            raise UsageError(f"{method}() takes texts, not {one!r:.80}: write {method}({_name_or_text(one)!r:.80})")


def _name_or_text(value: object) -> str:
    return getattr(value, "__name__", None) or str(value)


def _is_call(call: ApiCall, name: str, arguments: Mapping[str, Any]) -> bool:
    if name not in (call.api.api_name, call.api.title):
        return False
    made = call.arguments if isinstance(call.arguments, dict) else {}
    return all(
        fits(made[key], value) if key in made else isinstance(value, dict) and "$optional" in value
        for key, value in arguments.items()
    )


def fits(given: Json, wanted: Any) -> bool:
    """Return whether an argument equals the wanted value or fits its description, such as ``about(12.5, 0.1)``."""
    if wanted is any:
        return True
    if callable(wanted):
        if iscoroutinefunction(wanted):
            raise UsageError(f"{wanted.__name__} is async; a function that checks an argument must not be")
        return bool(wanted(given))
    if isinstance(wanted, dict):
        from trialbed.tool_calls import ValueComparer

        return ValueComparer().compare("", "", given, wanted)[0] == 1
    return bool(given == wanted)


def call_text(name: str, arguments: Any) -> str:
    """Format a call as Python."""
    if not isinstance(arguments, Mapping):
        return f"{name}({arguments!r:.60})"
    write = partial(json.dumps, ensure_ascii=False, default=_name_or_text)
    return f"{name}({', '.join(f'{key}={write(value)}' for key, value in arguments.items())})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _call_with_refusal(call: ApiCall) -> str:
    refused = f" [refused: {call.error[:80]}]" if call.error else ""
    return call_text(call.api.api_name, call.arguments)[:LONGEST] + refused
