"""Examines whether an answer obeys its request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.wire import parse_json_fast
from trialbed.wire.json_schemas import Undecided
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings._answers import AnsweredRow, alternatives_of, function_of, list_of, object_of
from trialbed_verify.findings._kinds import Finding, finding
from trialbed_verify.findings._usage import MOST_LETTERS, SLACK, least_letters

CUT = ("length", "content_filter")
"""Finish reasons of answers that ended early."""


def examine_constraints(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield the constraints of the request that the answer does not obey."""
    request, made = answer.request, answer.made
    yield from _choice_of_tools(answer, request.get("tool_choice"))
    if request.get("parallel_tool_calls") is False and len(made) > 1:
        yield finding("parallel_calls", f"{len(made)} calls, and one at a time was asked for", made)
    if not made and answer.reason not in CUT and not answer.message.get("refusal"):
        yield from _format(answer, object_of(request.get("response_format")))
    yield from _length(answer)
    number = request.get("n")
    number = number if isinstance(number, int) and not isinstance(number, bool) else 1
    if len(answer.choices) != number:
        indices = [choice.get("index") for choice in answer.choices]
        yield finding("wrong_number_of_choices", f"{len(indices)} choices, and {number} were asked for", indices)
    stops = request.get("stop")
    for stop in [stops] if isinstance(stops, str) else list_of(stops):
        if isinstance(stop, str) and stop and (at := answer.content.find(stop)) >= 0:
            yield finding("stop_sequence_in_text", f"the text has the stop sequence {stop!r}", answer.content[at:])
    if request.get("logprobs"):
        yield from _logprobs(answer)
    if answer.reasoning and _without_reasoning(request):
        yield finding("reasoning_unwanted", "there is reasoning, and the request switches it off", answer.reasoning)


def constrained_parameters(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of ``PARAMETERS`` that a request has, with values that constrain its answer."""
    number = request.get("n")
    has = {
        "tool_choice": request.get("tool_choice") not in (None, "auto"),
        "parallel_tool_calls": request.get("parallel_tool_calls") is False,
        "response_format": object_of(request.get("response_format")).get("type") in ("json_object", "json_schema"),
        "max_tokens": _limit(request) is not None,
        "stop": bool(request.get("stop")),
        "n": isinstance(number, int) and number > 1,
        "logprobs": bool(request.get("logprobs")),
        "thinking": _without_reasoning(request),
    }
    return (name for name, constrained in has.items() if constrained)


def _choice_of_tools(answer: AnsweredRow, choice: Any) -> Iterator[Finding]:
    calls = answer.made
    if choice == "none" and calls:
        yield finding("call_forbidden", f"{len(calls)} calls, and tool_choice is none", calls)
    if not calls and answer.demands_call and answer.reason not in CUT and not answer.message.get("refusal"):
        yield finding("call_not_made", "no call, and tool_choice demands one", answer.message)
    if isinstance(choice, dict):
        tools = [choice]
        if is_list := choice.get("type") == "allowed_tools":
            listed = (object_of(choice.get("allowed_tools")) or choice).get("tools")
            tools = list_of(listed)
        allowed = [name for tool in tools if (name := _tool_name(tool))]
        for call in calls if is_list or allowed else ():
            if (name := function_of(call).get("name")) not in allowed:
                yield finding("other_tool_than_chosen", f"{name} was called, and {', '.join(allowed)} was chosen", call)


def _tool_name(tool: Any) -> str | None:
    tool = object_of(tool)
    name = (tool["function"] if isinstance(tool.get("function"), dict) else tool).get("name")
    return name if isinstance(name, str) else None


def _format(answer: AnsweredRow, wanted: Mapping[str, Any]) -> Iterator[Finding]:
    kind = wanted.get("type")
    if kind not in ("json_object", "json_schema"):
        return
    try:
        value = parse_json_fast(answer.content.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        yield finding("not_json", f"the text is not JSON: {error}", answer.content or answer.message)
        return
    if kind == "json_object" and not isinstance(value, dict):
        yield finding("not_json", "the text is JSON, but not an object", answer.content)
    schema = object_of(wanted.get("json_schema")).get("schema")
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


def _limit(request: Mapping[str, Any]) -> int | None:
    limits = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def _length(answer: AnsweredRow) -> Iterator[Finding]:
    limit, tokens = _limit(answer.request), answer.usage.get("completion_tokens")
    if limit is None:
        return
    allowed = limit * max(1, len(answer.choices))
    letters = least_letters(answer.whole_text) if len(answer.whole_text) > MOST_LETTERS * allowed else 0
    if tokens is not None and tokens > allowed:
        yield finding("more_than_max_tokens", f"{tokens} tokens, and {limit} are allowed", answer.reported_usage)
    elif letters > MOST_LETTERS * allowed + SLACK:
        # Whatever the vendor counts.
        yield finding("more_than_max_tokens", f"{letters} characters, and {limit} tokens are allowed", answer.content)
    elif tokens is not None and answer.reason == "length" and tokens < limit / 2:
        yield finding("length_before_limit", f"cut at {tokens} tokens, and {limit} are allowed", answer.reported_usage)


def _without_reasoning(request: Mapping[str, Any]) -> bool:
    """Return whether a request switches reasoning off, in one of the ways of vendors."""
    template = object_of(request.get("chat_template_kwargs"))
    switches = (request.get("enable_thinking"), template.get("enable_thinking"), template.get("thinking"))
    disabled = object_of(request.get("thinking")).get("type") == "disabled"
    return request.get("reasoning_effort") == "none" or disabled or False in switches


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
