"""Examines whether an answer obeys its request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from trialbed.wire import parse_json_fast
from trialbed.wire.json_schemas import Undecided
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings._answers import (
    AnsweredRow,
    alternatives_of,
    function_of,
    is_whole,
    least_letters,
    list_of,
    object_of,
)
from trialbed_verify.findings._kinds import MOST_LETTERS, SLACK, Check

CUT = ("length", "content_filter")
"""Finish reasons of answers that ended early."""


def examine_constraints(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the constraints of the request."""
    request, made, content = answer.request, answer.made, answer.content
    may_lack_call = bool(made) or answer.reason in CUT or bool(answer.message.get("refusal"))
    yield request.get("tool_choice") == "none" and made, "call_forbidden", len(made), made
    yield answer.demands_call and not may_lack_call, "call_not_made", "", answer.message
    yield from _chosen_tools(made, request.get("tool_choice"))
    is_parallel = request.get("parallel_tool_calls") is False and len(made) > 1
    yield is_parallel, "parallel_calls", len(made), made
    if not may_lack_call:
        yield from _format(answer, object_of(request.get("response_format")))
    yield from _length(answer)
    number = request["n"] if is_whole(request.get("n")) else 1
    indices = [choice.get("index") for choice in answer.choices]
    yield len(indices) != number, "wrong_number_of_choices", (len(indices), number), indices
    stops = request.get("stop")
    for stop in [stops] if isinstance(stops, str) else list_of(stops):
        if isinstance(stop, str) and stop and (at := content.find(stop)) >= 0:
            yield True, "stop_sequence_in_text", repr(stop), content[at:]
    if request.get("logprobs"):
        yield from _logprobs(answer)
    yield answer.reasoning and _without_reasoning(request), "reasoning_unwanted", "", answer.reasoning


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


def _chosen_tools(calls: list[Any], choice: Any) -> Iterator[Check]:
    is_list = object_of(choice).get("type") == "allowed_tools"
    tools = list_of((object_of(choice.get("allowed_tools")) or choice).get("tools")) if is_list else [object_of(choice)]
    named = [(function_of(tool) or object_of(tool)).get("name") for tool in tools]
    allowed = [name for name in named if isinstance(name, str) and name]
    for call in calls if is_list or allowed else ():
        name = function_of(call).get("name")
        yield name not in allowed, "other_tool_than_chosen", (name, ", ".join(allowed)), call


def _format(answer: AnsweredRow, wanted: Mapping[str, Any]) -> Iterator[Check]:
    kind, schema = wanted.get("type"), object_of(wanted.get("json_schema")).get("schema")
    if kind not in ("json_object", "json_schema"):
        return
    try:
        value = parse_json_fast(answer.content.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        yield True, "not_json", f"the text is not JSON: {error}", answer.content or answer.message
        return
    is_other = kind == "json_object" and not isinstance(value, dict)
    yield is_other, "not_json", "the text is JSON, but not an object", answer.content
    # A schema that cannot be used is the test set's fault.
    checked = usable_schema(schema) if kind == "json_schema" and schema is not None else ""
    with suppress(Undecided):
        for problem in checked.problems(value, 1) if not isinstance(checked, str) else ():
            place = "/".join(map(str, problem.path))
            yield True, "not_of_response_schema", (problem.message, place), answer.content


def _limit(request: Mapping[str, Any]) -> int | None:
    limits = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def _length(answer: AnsweredRow) -> Iterator[Check]:
    limit, tokens = _limit(answer.request), answer.usage.get("completion_tokens")
    if limit is None:
        return
    allowed = limit * max(1, len(answer.choices))
    letters = least_letters(answer.whole_text) if len(answer.whole_text) > MOST_LETTERS * allowed else 0
    is_counted = tokens is not None and tokens > allowed
    yield is_counted, "more_than_max_tokens", (f"{tokens} tokens", limit), answer.reported_usage
    # Whatever the vendor counts.
    is_longer = letters > MOST_LETTERS * allowed + SLACK
    yield is_longer, "more_than_max_tokens", (f"{letters} characters", f"{limit} tokens"), answer.content
    is_short = not (is_counted or is_longer) and tokens is not None and answer.reason == "length" and tokens < limit / 2
    yield is_short, "length_before_limit", (tokens, limit), answer.reported_usage


def _without_reasoning(request: Mapping[str, Any]) -> bool:
    """Return whether a request switches reasoning off, in one of the ways of vendors."""
    template = object_of(request.get("chat_template_kwargs"))
    switches = (request.get("enable_thinking"), template.get("enable_thinking"), template.get("thinking"))
    disabled = object_of(request.get("thinking")).get("type") == "disabled"
    return request.get("reasoning_effort") == "none" or disabled or False in switches


def _logprobs(answer: AnsweredRow) -> Iterator[Check]:
    logprobs = object_of(answer.choice.get("logprobs"))
    if not any(logprobs.values()):
        yield answer.content, "logprobs_missing", "", answer.choice.get("logprobs")
        return
    wanted, tokens = answer.request.get("top_logprobs"), logprobs.get("content")
    if isinstance(wanted, int) and isinstance(tokens, list):
        fewest = min((len(alternatives_of(token)) for token in tokens), default=wanted)
        yield fewest < wanted, "top_logprobs_missing", (fewest, wanted), tokens[:1]
