"""Examines whether an answer obeys its request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.wire import parse_json_fast
from trialbed.wire.json_schemas import Undecided
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings._answers import AnsweredRow, alternatives_of, function_of
from trialbed_verify.findings._kinds import Finding, finding
from trialbed_verify.findings._usage import MOST_LETTERS, SLACK, least_letters

CUT = ("length", "content_filter")
"""Finish reasons of answers that ended early."""


def examine_constraints(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield the constraints of the request that the answer does not obey."""
    request = answer.request
    yield from _choice_of_tools(answer, request.get("tool_choice"))
    if request.get("parallel_tool_calls") is False and len(answer.made) > 1:
        yield finding("parallel_calls", f"{len(answer.made)} calls, and one at a time was asked for", answer.made)
    if isinstance(wanted := request.get("response_format"), dict):
        yield from _format(answer, wanted)
    yield from _length(answer)
    yield from _number(answer, request.get("n"))
    yield from _stops(answer, request.get("stop"))
    if request.get("logprobs"):
        yield from _logprobs(answer)
    if answer.reasoning and _without_reasoning(request):
        yield finding("reasoning_unwanted", "there is reasoning, and the request switches it off", answer.reasoning)


def constrained_parameters(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of ``PARAMETERS`` that a request has, with values that constrain its answer."""
    choice, form = request.get("tool_choice"), request.get("response_format")
    limits = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    number = request.get("n")
    has = {
        "tool_choice": choice is not None and choice != "auto",
        "parallel_tool_calls": request.get("parallel_tool_calls") is False,
        "response_format": isinstance(form, dict) and form.get("type") in ("json_object", "json_schema"),
        "max_tokens": any(isinstance(limit, int) and limit > 0 for limit in limits),
        "stop": bool(request.get("stop")),
        "n": isinstance(number, int) and number > 1,
        "logprobs": bool(request.get("logprobs")),
        "thinking": _without_reasoning(request),
    }
    return (name for name, constrained in has.items() if constrained)


def _choice_of_tools(answer: AnsweredRow, choice: Any) -> Iterator[Finding]:
    if choice is None or choice == "auto":
        return
    calls = answer.made
    if choice == "none":
        if calls:
            yield finding("call_forbidden", f"{len(calls)} calls, and tool_choice is none", calls)
        return
    if not calls and answer.demands_call:
        if answer.reason not in CUT and not answer.message.get("refusal"):
            yield finding("call_not_made", "no call, and tool_choice demands one", answer.message)
        return
    allowed = _allowed_tools(choice)
    if allowed is None:
        return
    for call in calls:
        name = function_of(call).get("name")
        if name not in allowed:
            yield finding("other_tool_than_chosen", f"{name} was called, and {', '.join(allowed)} was chosen", call)


def _allowed_tools(choice: Any) -> list[str] | None:
    """Return the tools that may be called; None if the choice names none."""
    if not isinstance(choice, dict):
        return None
    if choice.get("type") == "allowed_tools":
        inner = choice.get("allowed_tools")
        tools = inner.get("tools") if isinstance(inner, dict) else choice.get("tools")
        return [name for tool in tools or () if (name := _tool_name(tool))]
    name = _tool_name(choice)
    return [name] if name else None


def _tool_name(tool: Any) -> str | None:
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None


def _format(answer: AnsweredRow, wanted: Mapping[str, Any]) -> Iterator[Finding]:
    kind = wanted.get("type")
    if kind not in ("json_object", "json_schema") or answer.made:
        return
    if answer.reason in CUT or answer.message.get("refusal"):
        return
    try:
        value = parse_json_fast(answer.content.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        yield finding("not_json", f"the text is not JSON: {error}", answer.content or answer.message)
        return
    if kind == "json_object" and not isinstance(value, dict):
        yield finding("not_json", "the text is JSON, but not an object", answer.content)
    described = wanted.get("json_schema")
    schema = described.get("schema") if isinstance(described, dict) else None
    checked = usable_schema(schema) if kind == "json_schema" and schema is not None else ""
    if isinstance(checked, str):
        return  # A schema that cannot be used is the test set's fault.
    try:
        problems = checked.problems(value, 1)
    except Undecided:
        return
    for problem in problems:
        place = "/".join(map(str, problem.path))
        yield finding("not_of_response_schema", f"{problem.message} (at /{place})", answer.content)


def _length(answer: AnsweredRow) -> Iterator[Finding]:
    limits = [answer.request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    limit = min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)
    tokens = answer.usage.get("completion_tokens")
    if limit is None:
        return
    allowed = limit * max(1, len(answer.choices))
    letters = least_letters(answer.whole_text) if len(answer.whole_text) > MOST_LETTERS * allowed else 0
    if tokens is not None and tokens > allowed:
        yield finding("more_than_max_tokens", f"{tokens} tokens, and {limit} are allowed", answer.reported_usage)
    elif letters > MOST_LETTERS * allowed + SLACK:
        # Whatever the vendor counts.
        yield finding("more_than_max_tokens", f"{letters} characters, and {limit} tokens are allowed", answer.content)
    elif tokens is None:
        return
    elif answer.reason == "length" and tokens < limit / 2:
        yield finding("length_before_limit", f"cut at {tokens} tokens, and {limit} are allowed", answer.reported_usage)


def _without_reasoning(request: Mapping[str, Any]) -> bool:
    """Return whether a request switches reasoning off, in one of the ways of vendors."""
    template, thinking = request.get("chat_template_kwargs"), request.get("thinking")
    switches = [request.get("enable_thinking")]
    if isinstance(template, dict):
        switches += [template.get("enable_thinking"), template.get("thinking")]
    disabled = isinstance(thinking, dict) and thinking.get("type") == "disabled"
    return request.get("reasoning_effort") == "none" or disabled or False in switches


def _number(answer: AnsweredRow, wanted: Any) -> Iterator[Finding]:
    number = wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else 1
    if len(answer.choices) != number:
        indices = [choice.get("index") for choice in answer.choices]
        yield finding("wrong_number_of_choices", f"{len(indices)} choices, and {number} were asked for", indices)


def _stops(answer: AnsweredRow, stops: Any) -> Iterator[Finding]:
    for stop in [stops] if isinstance(stops, str) else stops if isinstance(stops, list) else ():
        if isinstance(stop, str) and stop and stop in answer.content:
            at = answer.content.index(stop)
            yield finding("stop_sequence_in_text", f"the text has the stop sequence {stop!r}", answer.content[at:])


def _logprobs(answer: AnsweredRow) -> Iterator[Finding]:
    logprobs = answer.choice.get("logprobs")
    if not isinstance(logprobs, dict) or not any(logprobs.values()):
        if answer.content:
            yield finding("logprobs_missing", "log probabilities were asked for and did not come", logprobs)
        return
    wanted, tokens = answer.request.get("top_logprobs"), logprobs.get("content")
    if isinstance(wanted, int) and isinstance(tokens, list):
        fewest = min((len(alternatives_of(token)) for token in tokens), default=wanted)
        if fewest < wanted:
            yield finding("top_logprobs_missing", f"{fewest} alternatives, and {wanted} were asked for", tokens[:1])
