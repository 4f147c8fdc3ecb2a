"""Show one trial, with its requests and answers in their order, its problems, expectations and scores.

``bench show`` and the pages both use this, and therefore say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from trialbed.attribution import unrequested_calls
from trialbed.integrity import finding_text
from trialbed.records import ApiCall, ModelCall, WireLog, score_title
from trialbed.texts import first_of
from trialbed.tool_calls import asked_calls, call_sources, compare_calls
from trialbed.wire import ModelMessage, ModelRequest, recorded_answer, recorded_request
from trialbed.wire_log import failed

if TYPE_CHECKING:
    from trialbed.records import Expected, GoldCall, Json, Query, Score, ToolSpec, TrialResult

MOST_AGENTS = 9
"""The most system prompts of a trial that are taken for different agents."""


@dataclass(frozen=True)
class RequestMessage:
    """A message of a request.

    Attributes:
        role: who speaks; ``?`` if the message does not say, and ``message`` if it is not a message.
        text: its content as text, or empty.
        calls: the calls that it asks for: name, and arguments as text.
    """

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ModelExchange:
    """A request to the model and its answer.

    Attributes:
        place: counted from 1 among the requests of the trial.
        call: the gateway's record.
        at: seconds between the beginnings of the trial's first exchange and this one.
        known: how many messages came before in an earlier request; None if the request cannot be read.
        messages: the others.
        offered: the tools on offer, if they differ from the tools of earlier requests.
        agent: the number of the agent that sent it, if requests have different system prompts or, without these,
            different tools; otherwise 0. An agent counts as several if its prompt changes.
        thoughts: the reasoning that the model wrote.
        text: its answer.
        unread: an answer that cannot be read, unchanged.
    """

    place: int
    call: ModelCall
    at: float
    known: int | None
    messages: tuple[RequestMessage, ...]
    offered: tuple[str, ...] | None
    agent: int = 0
    thoughts: str = ""
    text: str = ""
    unread: str = ""


@dataclass(frozen=True)
class ToolExchange:
    """A call of an Api and its response.

    Attributes:
        place: counted from 1 among the calls of the trial.
        call: the virtual API's record.
        at: seconds between the beginnings of the trial's first exchange and this one.
    """

    place: int
    call: ApiCall
    at: float


Exchange: TypeAlias = ModelExchange | ToolExchange


def exchanges(wire: WireLog) -> tuple[Exchange, ...]:
    """Yield every request to the model, with its new messages, and every call of an Api, by the time they began."""
    seen: list[Any] = []
    # A trial may be open for long before its agent begins: the worker has to start first.
    began = min([call.started for call in wire.model_calls] + [call.started for call in wire.api_calls], default=0.0)
    agents = _agents(wire.model_calls)
    read: list[Exchange] = [
        _model_exchange(place, call, call.started - began, seen, agents.get(call.request, 0))
        for place, call in enumerate(wire.model_calls, 1)
    ]
    made: list[Exchange] = [
        ToolExchange(place, call, call.started - began) for place, call in enumerate(wire.api_calls, 1)
    ]
    return tuple(sorted([*read, *made], key=lambda one: (one.call.started, isinstance(one, ToolExchange), one.place)))


def _agents(calls: Sequence[ModelCall]) -> Mapping[str, int]:
    """Return the number of the agent that sent a request, by its text; empty if one agent sent all."""
    found = {call.request: request for call in calls if (request := recorded_request(call)) and not request.problem}
    prompts = {text: _prompt(request) for text, request in found.items()}
    if len(set(prompts.values())) == 1:
        prompts = {text: " ".join(sorted(request.names)) for text, request in found.items()}
    numbers = {prompt: number for number, prompt in enumerate(dict.fromkeys(prompts.values()), 1)}
    return {text: numbers[prompt] for text, prompt in prompts.items()} if 1 < len(numbers) <= MOST_AGENTS else {}


def _prompt(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages if message.role in ("system", "developer"))


def _model_exchange(place: int, call: ModelCall, at: float, seen: list[Any], agent: int) -> ModelExchange:
    """Add the request's messages and tools to the seen ones."""
    request = recorded_request(call)
    if request is None or request.problem:
        return ModelExchange(place, call, at, None, (), None, 0, **_answer(call))
    messages = request.messages
    known = next((at for at, message in enumerate(messages) if message.source not in seen), len(messages))
    seen.extend(message.source for message in messages[known:])
    tools = tuple(tool.name for tool in request.tools)
    offered = None if tools in seen else tools
    seen.append(tools)
    new = tuple(map(_message, messages[known:]))
    return ModelExchange(place, call, at, known, new, offered, agent, **_answer(call))


def _message(message: ModelMessage) -> RequestMessage:
    if not isinstance(message.source, Mapping):
        return RequestMessage("message", as_text(message.content))
    calls = tuple((call.name or "?", call.arguments) for call in message.calls)
    return RequestMessage(message.role or "?", _plain(message.content), calls)


def _plain(content: Any) -> str:
    """Return the text of a content, which may come in parts."""
    if isinstance(content, list):
        return "\n".join(
            str(part["text"]) if isinstance(part, Mapping) and "text" in part else as_text(part) for part in content
        )
    return "" if content is None else as_text(content)


def _answer(call: ModelCall) -> dict[str, str]:
    """Return the parts of an exchange that hold the model's answer."""
    answer = recorded_answer(call).answer
    return {
        "thoughts": answer.reasoning,
        "text": _plain(answer.content),
        "unread": "" if answer.source else call.response,
    }


SEEN_IN = "seen in"
"""Names the requests that show a loss; pages link them."""

HARMLESS = frozenset({"required_choice", "added_tool", "unwritten_answer"})
"""Findings that lower no score."""

TOLD = frozenset({"unasked_call", "invented_claim"})
"""Findings that stand among the calls and the claims."""

NOT_ASKED = {
    "forced": "was called, as the request forced the call with tool_choice",
    "dictated": "was called, as the request had told the model to",
    "changed": "was called with arguments that the model did not write",
}
"""Origin of a call -> why it is not the model's."""


@dataclass(frozen=True)
class TrialProblem:
    """One thing that went wrong.

    Attributes:
        where: ``request 2`` or ``requests 3 to 9`` (of the model), ``call 1`` (of an Api), ``trial``, ``answer``,
            ``claims`` or ``expected``.
        what: what went wrong, and why if that is known.
        details: what belongs to it, by name: the arguments that were sent, and the right ones.
    """

    where: str
    what: str
    details: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return {**asdict(self), "details": dict(self.details)}


def problems(result: TrialResult, tools: Sequence[ToolSpec]) -> list[TrialProblem]:
    """Return everything that went wrong, in the order of events, and then the consequences.

    Args:
        tools: that the trial was offered.
    """
    failure, answer = result.outcome.failure, result.outcome.answer
    read = list[TrialProblem]()
    if failure is not None:
        read.append(TrialProblem("trial", f"{result.status} ({failure.kind}): {failure.message}"))
    read += [*_of_requests(result.wire.model_calls), *_of_calls(result, tools), *_lost_calls(result)]
    read += [*_missing(result), *_of_answer(result)]
    if answer is not None and answer.reports_calls:
        claims = compare_calls(answer, result.wire)
        said = [f"{_api(pair)} is claimed, and was never called in this way" for pair in claims.invented]
        said += (f"{_api(pair)} was called, and is not claimed in this way" for pair in claims.unreported)
        read += (TrialProblem("claims", what) for what in said)
    # The findings that lower the trial's scores, unless another problem covers them.
    others = (one for one in result.integrity or () if one.kind not in HARMLESS | TOLD)
    return read + [TrialProblem("trial", finding_text(one)) for one in others]


def _of_requests(calls: Sequence[ModelCall]) -> Iterator[TrialProblem]:
    """Yield the problems of each request; of those refused by a limit, one after the other, of the first."""
    for refused, group in groupby(enumerate(calls, 1), key=lambda pair: pair[1].cause == "limit"):
        own = list(group)
        if refused and len(own) > 1:
            yield from _of_request(f"requests {own[0][0]} to {own[-1][0]}", own[0][1])
        else:
            for place, call in own:
                yield from _of_request(f"request {place}", call)


def _of_request(where: str, call: ModelCall) -> Iterator[TrialProblem]:
    if failed(call):
        cause = f" ({call.cause})" if call.cause else ""
        yield TrialProblem(where, f"failed{cause}{_by_fault(call)}: {call.error or f'status {call.status}'}")
    for sent in call.tool_calls:
        if sent.problem is not None:
            what = f"the model's call of {sent.name} could not be made: {problem_words(sent.problem)}"
            yield TrialProblem(where, what, (("sent", sent.arguments),))
    for written in call.text_calls:
        what = f"the model wrote a call of {written.name} as text instead of sending it; it is never made"
        yield TrialProblem(where, what, (("written", written.arguments),))
    if call.finish_reason == "length":
        yield TrialProblem(where, "the model's answer was cut at the limit of tokens")


def _of_calls(result: TrialResult, tools: Sequence[ToolSpec]) -> Iterator[TrialProblem]:
    without = unrequested_calls(result, tools)
    unasked = {id(call) for call in without}
    sources = call_sources(result.wire, tools) if unasked else ()
    changed = {(call.api, call.started): call.sent for call in asked_calls(result.wire, tools, without) if call.sent}
    for place, call in enumerate(result.wire.api_calls, 1):
        where = f"call {place}"
        if not call.offered:
            yield TrialProblem(where, f"{api_name(call)} was not offered in this trial")
        if call.error or call.status != 200:
            reason = (call.error or f"status {call.status}").strip()
            as_asked = changed.get((call.api, call.started))
            asked = (("asked", as_asked),) if as_asked else ()
            gold = [one.gold.arguments for one in result.gold_calls or () if one.gold.api.pair == call.api.pair]
            right = (("expected", as_text(arguments)) for arguments in gold if arguments is not None)
            details: tuple[tuple[str, str], ...] = (*asked, ("sent", as_text(call.arguments)), *right)
            what = "was changed by the framework, and refused" if as_asked else "was refused"
            yield TrialProblem(where, f"{api_name(call)} {what}{_by_fault(call)}: {reason}", details)
        elif id(call) in unasked:
            origin, by_model = sources[place - 1]
            what = NOT_ASKED.get(origin, "was called, though no answer of the model asked for it")
            details = ()
            if by_model is not None and origin == "changed":
                details = (("asked", by_model.call.arguments), ("sent", as_text(call.arguments)))
            yield TrialProblem(where, f"{api_name(call)} {what}", details)


def _by_fault(call: ApiCall | ModelCall) -> str:
    """Return a remark that a failure was injected, or an empty text; a delay alone makes nothing fail."""
    kind = fault_words(call)
    return f", by an injected fault ({kind})" if kind not in ("", "slow") else ""


def problem_words(problem: str) -> str:
    """Return why a call of the model could not be made."""
    return problem.replace("invalid json", "invalid JSON")


def fault_words(call: ApiCall | ModelCall) -> str:
    """Return the kind of the injected fault in words, or an empty text."""
    return (call.fault or "").partition(":")[0].replace("_", " ")


def _lost_calls(result: TrialResult) -> Iterator[TrialProblem]:
    for lost in result.wire.lost:
        detail = f": {lost.detail}" if lost.detail else ""
        yield TrialProblem("expected", f"{lost.tool} could not be called ({lost.reason}){detail}")
    for filled in result.wire.filled:
        what = f"{filled.tool}: the optional argument {filled.argument} was offered as required, and made up"
        yield TrialProblem("expected", what, (("value", as_text(filled.value)),))


def _missing(result: TrialResult) -> Iterator[TrialProblem]:
    """Yield the lost expected calls, each with place and cause, and the Apis that were called unexpectedly."""
    score = result.score("api_call_score")
    refused = {call.api.pair for call in result.wire.api_calls if call.error or call.status != 200}
    for found in result.gold_calls or ():
        pair = found.gold.api.pair
        # A call that the Api refused stands among the calls, with the arguments that are expected.
        if found.lost is None or (pair in refused and found.lost in ("wrong arguments", "api failed")):
            continue
        details: tuple[tuple[str, str], ...] = ()
        if found.gold.arguments is not None:
            details = (("expected", as_text(found.gold.arguments)),)
        if found.requests:
            details = (*details, (SEEN_IN, ", ".join(f"request {number}" for number in found.requests)))
        why = f"{found.lost}: {problem_words(found.reason)}"
        if found.lost == "trial failed" and found.reason.startswith("before "):
            why = f"the trial failed {found.reason.partition(' (')[0]}"  # the failure itself stands first of all
        yield TrialProblem("expected", f"{_api(pair)}: {why}", details)
    for pair in (score.detail.get("extra") if score is not None else None) or ():
        yield TrialProblem("expected", f"{_api(pair)} was called, and is not expected")


def _api(pair: Iterable[object]) -> str:
    """Return the name of an Api, with its tool's name before it if it belongs to one."""
    return "/".join(str(name) for name in pair if name)


def _of_answer(result: TrialResult) -> Iterator[TrialProblem]:
    answer = result.outcome.answer
    if answer is not None and answer.finish is None:
        yield TrialProblem("answer", "the agent did not finish on its own")
    if answer is not None and answer.finish == "give_up_and_restart":
        yield TrialProblem("answer", "the agent gave up")
    redundant = result.score("redundant_calls")
    if redundant is not None and redundant.value:
        calls = "1 call" if redundant.value == 1 else f"{redundant.value:g} calls"
        yield TrialProblem("trial", f"{calls} repeated an earlier one that had succeeded")
    for score in result.scores:
        if score.failure is not None:
            # An agent that asks no model, or one of its own, has no tokens to be counted: that is nothing wrong.
            if score.failure.kind != "model" or result.wire.model_calls:
                what = f"{score_title(score.name)} could not be determined: {score.failure.message}"
                yield TrialProblem("score", what)
        elif score.name == "sopr_score" and score.label not in (None, "Solved"):
            reason = score.detail.get("reason")
            yield TrialProblem("answer", f"{score.label}" + (f": {reason}" if reason else ""))


def end_text(result: TrialResult) -> str:
    """Return how a trial ended, by its status, or in words if it ended without failure and without an answer."""
    answer = result.outcome.answer
    is_empty = result.status == "answered" and answer is not None and not answer.final_answer.strip()
    return "ended without an answer" if is_empty else result.status


def api_name(call: ApiCall) -> str:
    """Return the name of a call's Api for display."""
    return _api(call.api.pair)


def user_call_text(call: ApiCall) -> str:
    """Return a call of the user's own tools, and its result, in a line."""
    given = f" {as_text(call.arguments)}" if call.arguments else ""
    return f"{call.api.api_name}{given} → {call.error or as_text(call.response)}"


def as_text(value: Json | Mapping[str, Any]) -> str:
    """Return a value as JSON; a text stays unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


BY_EXPECTATIONS = "expectations"
"""The method of a verdict that no judge gave, as the expectations of the task decide."""

NOTHING: tuple[Any, ...] = (None, [], {}, "")
OUTCOMES = {True: "met", False: "not met", None: "not known"}
SHOWN = 5
"""Calls that are named in a line."""

LISTED = ("sent", "claimed", "right")
"""Details of scores that list calls, which are shown before."""

OFTEN_NONE = ("failed", "repeated")
"""Counts that mean nothing at 0."""


def reason_text(score: Score) -> str:
    """Return why a score has its value, from its scorer; for expectations, how many are not met.

    Which ones they are stands among the problems of the trial.
    """
    if score.failure is not None:
        return score.failure.message
    reason = str(score.detail.get("reason") or "")
    return reason.partition(": ")[0] if score.detail.get("method") == BY_EXPECTATIONS else reason


def detail_text(score: Score) -> str:
    """Return the rest of a score's detail in words; empty if it says nothing."""
    return "; ".join(
        f"{key.replace('_', ' ')}: {_value_text(value)}"
        for key, value in score.detail.items()
        if value not in NOTHING and key not in LISTED and not (key in OFTEN_NONE and value == 0)
    )


def expectation_lines(score: Score) -> Iterator[str]:
    """Yield each expectation of a task, with whether the trial meets it, if a score lists several.

    A reason that the score itself gives is not repeated.
    """
    said = str(score.detail.get("reason") or "")
    listed = score.detail.get("expectations")
    several = listed if isinstance(listed, list) and len(listed) > 1 else []
    for one in several:
        if not isinstance(one, dict):
            continue
        reason = str(one.get("reason") or "")
        word, text = OUTCOMES.get(one.get("met"), ""), one.get("text", "")
        yield f"{word}: {text}" + (f": {reason}" if reason and reason not in said else "")


def _value_text(value: Any) -> str:
    """Return a value as text for display, including lists of names and of an Api's pair of names."""
    listed = value if isinstance(value, list) else [None]
    pairs: list[Any] = [[one] if isinstance(one, str) else one for one in listed]
    if not all(isinstance(pair, list) and all(isinstance(part, str) for part in pair) for pair in pairs):
        return as_text(value)
    return first_of(list(map(_api, pairs)), SHOWN)


def expected_lines(query: Query) -> Iterator[tuple[str, str]]:
    """Yield ``(label, text)`` of each call, fact, state and limit that a right trial of the task meets."""
    yield from (("expected", _call(call)) for call in query.gold_calls)
    yield from (("expected of the user", _call(call)) for call in query.user_calls)
    if query.states_calls and query.apis and not query.gold_calls:
        yield "expected", "no calls"
    if query.expected is not None:
        yield from _further(query.expected)
    yield from (("expected in the answer", fact) for fact in query.reference_facts)
    if query.final_state is not None:
        yield "expected final state", as_text(query.final_state)
    if query.reference_answer:
        yield "reference answer", query.reference_answer


def _further(expected: Expected) -> Iterator[tuple[str, str]]:
    yield from (("or", ", ".join(map(_call, way)) or "no calls") for way in expected.ways)
    if expected.in_order:
        yield "expected", "the calls are made in this order"
    if expected.only:
        yield "expected", "no other calls are made"
    if expected.never:
        yield "never", ", ".join(_api(api.pair) for api in expected.never)
    limits = {
        "calls of tools": expected.most_calls,
        "requests to the model": expected.most_requests,
        "tokens": expected.most_tokens,
        "seconds": expected.most_seconds,
    }
    yield from (("at most", f"{most:,g} {unit}") for unit, most in limits.items() if most is not None)
    yield from (("check", name) for name in expected.checks)
    yield from (("criterion", text) for text in expected.criteria)
    for test in expected.tests:
        parts = [*(_call(call) for call in test.calls), *(repr(fact) for fact in test.facts)]
        if test.final_state is not None:
            parts.append(f"final state {as_text(test.final_state)}")
        parts += (f"{label} {text}" for label, text in _further(test.expected))
        yield f"test {test.name}", "; ".join(parts)


def _call(call: GoldCall) -> str:
    return _api(call.api.pair) if call.arguments is None else f"{_api(call.api.pair)} {as_text(call.arguments)}"
