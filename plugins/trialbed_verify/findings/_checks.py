"""Check a result row's form, calls, token counts and model, and the constraints of its request."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from trialbed.wire import parse_json_fast
from trialbed.wire.dialects.chat_completions import read_request
from trialbed.wire.json_schemas import Undecided, schema_problems
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings._answers import (
    CUT,
    AnsweredRow,
    Count,
    alternatives_of,
    check_text,
    find_call,
    function_of,
    is_count,
    is_whole,
    list_of,
    object_of,
    objects_of,
)
from trialbed_verify.findings._kinds import (
    CALL_REASONS,
    KINDS,
    LOGPROBS,
    MESSAGES,
    PROTOCOL_ERRORS,
    UNCONSTRAINING,
    Check,
    Finding,
    finding,
)
from trialbed_verify.rows import TOKENS

Row = Mapping[str, Any]

REASONS = frozenset(("stop", "length", "tool_calls", "content_filter", "function_call"))
FORMATS = ("json_object", "json_schema")
FIELDS = {"id": str, "object": str, "created": int, "model": str}

CALL_TYPES = {"function": "arguments", "custom": "input"}
"""Type of a call -> the key of its input."""

LATEST = 10**11
"""Seconds since 1970 in the year 5138; times above it are in milliseconds."""

MOST_LETTERS = 20
"""Highest average number of characters per token in ordinary text; three to five are usual."""

SLACK = 40
"""Tokens that a template adds to an answer or a call, at most."""

OF_A_TEMPLATE = 4000
"""Tokens that a vendor's own instructions add to a request, at most."""

AGREEMENT = 0.1
"""Allowed relative difference of two counts of a text; templates and ends of calls are counted differently."""

REPEATED = re.compile(r"(\s|[^\w\s])\1{2,}")
"""Runs of spaces or punctuation, which may be one token."""

SNAPSHOT = re.compile(r"(?:[-@:](?:\d{3,8}|\d\d-\d{2,4}|v\d[\d.]*(?::\d+)?|latest|free|preview)){1,6}")
"""The snapshot of a model, after its name; a single digit names another model."""


def findings(row: Row) -> tuple[Finding, ...]:
    """Return the findings that a row has, without kinds of later versions; a row without any is examined."""
    if not isinstance(row.get("findings"), list):
        return examine(row)
    known = [one for one in objects_of(row["findings"]) if str(one.get("kind")) in KINDS]
    return tuple(finding(one["kind"], str(one.get("message") or ""), one.get("evidence") or "") for one in known)


def examine(row: Row, excerpts: Mapping[str, str] | None = None, count: Count | None = None) -> tuple[Finding, ...]:
    """Return the first finding of each kind in a row, ignoring the findings recorded in it.

    Args:
        excerpts: kind -> the bytes that the parser of the answer flagged, if the row no longer has them.
        count: counts the tokens of a text with the model's own tokenizer.
    """
    answer, problem, found = AnsweredRow(row, count), object_of(row.get("problem")), dict[str, Finding]()
    kind, said = str(problem.get("kind")), str(problem.get("message") or "")
    for note in map(str, list_of(row.get("notes"))):
        # A raw completion has no delta.
        if note in KINDS and KINDS[note].gate == "protocol" and not (answer.is_raw and note == "delta_missing"):
            found[note] = finding(note, KINDS[note].meaning, (excerpts or {}).get(note, ""))
    if kind in PROTOCOL_ERRORS:
        found.setdefault(kind, finding(kind, KINDS[kind].meaning, said))
    # A vendor gives a text back with HTTP 400 if its parser did not find the call in it.
    returned = find_call(answer, said.partition("failed_generation")[2], "failed_generation")
    checks = chain(returned, *(look(answer) for look in CHECKS if answer.complete))
    for check in checks:
        if check[0] and check[1] not in found:
            kind, values, evidence = [*check[1:], answer.reported_usage or ""][:3]
            values = values if isinstance(values, tuple) else (values,)
            found[kind] = finding(kind, MESSAGES.get(kind, "{}").format(*values), evidence)
    return tuple(found.values())


def check_form(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the fields that the specification demands of the completion, its choices and its message."""
    response, message, reason, is_raw = answer.response, answer.message, answer.reason, answer.is_raw
    created, kind, logprobs = response.get("created"), response.get("object"), answer.choice.get("logprobs")
    missing = {name: response.get(name) for name in FIELDS if response.get(name) in (None, "")}
    others = [(name, kind, response[name]) for name, kind in FIELDS.items() if name not in missing]
    wrong = {name: value for name, kind, value in others if type(value) is not kind}
    yield missing, "field_missing", ", ".join(missing), missing
    yield wrong, "field_wrong_type", ", ".join(wrong), wrong
    yield isinstance(created, int) and not 0 < created < LATEST, "created_wrong", created, {"created": created}
    wanted = "text_completion" if is_raw else "chat.completion"
    is_other = isinstance(kind, str) and kind not in ("", wanted) and not (is_raw and answer.request.get("stream"))
    yield is_other, "object_wrong", (kind, wanted), {"object": kind}
    yield from _check_choices(answer)
    if not is_raw:
        role = message.get("role")
        yield role != "assistant", "role_wrong", role, {"role": role}
        yield "content" not in message, "content_missing", "", message
        for key in ("content", "refusal"):
            text = message.get(key)
            yield not isinstance(text, str | None), "content_not_text", (key, type(text).__name__), text
    yield reason not in REASONS, "finish_reason_unknown", reason or "absent", reason
    # Chats have no list of tokens as raw completions do.
    is_of_raw = object_of(logprobs).get("tokens") and not (is_raw or object_of(logprobs).get("content"))
    is_wrong = logprobs is not None and (is_of_raw or schema_problems(LOGPROBS, logprobs, 1))
    yield is_wrong, "logprobs_wrong", "", logprobs


def _check_choices(answer: AnsweredRow) -> Iterator[Check]:
    choices, indices = list_of(answer.response.get("choices")), [choice.get("index") for choice in answer.choices]
    whole = [*filter(is_whole, indices)]
    yield len(answer.choices) < len(choices), "choice_not_object", "", choices
    for choice in answer.choices:
        has_message = isinstance(choice.get("message"), dict) or isinstance(choice.get("text"), str)
        is_further = choice is not answer.choice
        yield is_further and not (has_message and choice.get("finish_reason")), "choice_incomplete", "", choice
    yield len(whole) < len(indices), "choice_index_missing", "", indices
    yield len(whole) == len(indices) and 0 not in whole, "choice_index_wrong", "", indices
    yield len(set(whole)) < len(whole), "choice_index_duplicate", "", indices


def check_calls(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the form of calls; the schema checks whether arguments fit."""
    calls, legacy, reason, numbers = answer.calls, answer.message.get("function_call"), answer.reason, dict[str, int]()
    yield calls is not None and not isinstance(calls, list), "tool_calls_not_list", type(calls).__name__, calls
    for number, call in enumerate(list_of(calls), 1):
        which, identity, kind = f"call {number}", object_of(call).get("id"), object_of(call).get("type")
        if not isinstance(call, dict):
            yield True, "call_not_object", which, call
            continue
        yield not isinstance(identity, str | None), "call_id_not_text", which, call
        yield identity in (None, ""), "call_id_missing", which, call
        is_again = isinstance(identity, str) and identity and numbers.setdefault(identity, number) < number
        yield is_again, "call_id_duplicate", (which, identity), call
        yield kind is None, "call_type_missing", which, call
        yield kind not in (None, *CALL_TYPES), "call_type_wrong", (which, kind), call
        key = "custom" if kind == "custom" else "function"
        yield from _check_function(call.get(key), which, call, CALL_TYPES[key])
    yield legacy and not answer.request.get("functions"), "legacy_function_call", "", legacy
    if isinstance(legacy, dict) and legacy:
        yield from _check_function(legacy, "the function_call", legacy, "arguments")
    yield reason == "tool_calls" and not (calls or legacy), "tool_calls_without_calls", "", ""
    # A call that is cut off has the reason of the cut, and one that was demanded may end with ``stop``.
    is_usual = reason in ("tool_calls", *CUT) or (reason == "stop" and answer.wanted_calls.mode == "required")
    yield calls and not is_usual, "calls_with_other_finish", reason, ""


def _check_function(function: Any, which: str, evidence: Any, given: str) -> Iterator[Check]:
    """Yield checks of the name and arguments of a called function or custom tool."""
    name, value = object_of(function).get("name"), object_of(function).get(given)
    has_name, kind = isinstance(name, str) and name, type(value).__name__
    yield not has_name, "call_function_missing", which, evidence
    yield has_name and value is None, "arguments_missing", (which, given), evidence
    yield has_name and not isinstance(value, str | None), "arguments_not_text", (given, which, kind), evidence


def check_constraints(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the request's constraints."""
    request, made, content, wanted = answer.request, answer.made, answer.content, answer.wanted_calls
    may_lack_call = bool(made) or answer.reason in CUT or bool(answer.message.get("refusal"))
    yield wanted.mode == "none" and made, "call_forbidden", len(made), made
    yield wanted.mode == "required" and not may_lack_call, "call_not_made", "", answer.message
    chosen = [wanted.name] if wanted.name else wanted.allowed
    for call in made if chosen else ():
        name = function_of(call).get("name")
        yield name not in chosen, "other_tool_than_chosen", (name, ", ".join(chosen)), call
    yield request.get("parallel_tool_calls") is False and len(made) > 1, "parallel_calls", len(made), made
    form = object_of(request.get("response_format"))
    if form.get("type") in FORMATS and not may_lack_call:
        yield from _check_format(answer, form)
    yield from _check_length(answer)
    number = request["n"] if is_whole(request.get("n")) else 1
    indices = [choice.get("index") for choice in answer.choices]
    yield len(indices) != number, "wrong_number_of_choices", (len(indices), number), indices
    stops = request.get("stop")
    for stop in [stops] if isinstance(stops, str) else list_of(stops):
        if isinstance(stop, str) and stop and stop in content:
            yield True, "stop_sequence_in_text", repr(stop), content[content.find(stop) :]
    if request.get("logprobs"):
        yield from _check_logprobs(answer, object_of(answer.choice.get("logprobs")))
    yield answer.reasoning and _has_no_reasoning(request), "reasoning_unwanted", "", answer.reasoning


def constrained_parameters(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of ``PARAMETERS`` that a request has, with values that constrain its answer."""
    yield from (name for name, usual in UNCONSTRAINING.items() if request.get(name) not in (None, *usual))
    has_format = object_of(request.get("response_format")).get("type") in FORMATS
    others = {"response_format": has_format, "max_tokens": _limit(request), "thinking": _has_no_reasoning(request)}
    yield from (name for name, constrained in others.items() if constrained)


def _limit(request: Mapping[str, Any]) -> int | None:
    limits = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    return min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def _has_no_reasoning(request: Mapping[str, Any]) -> bool:
    """Return whether a request disables reasoning in any vendor's way."""
    template = object_of(request.get("chat_template_kwargs"))
    switches = (request.get("enable_thinking"), template.get("enable_thinking"), template.get("thinking"))
    is_disabled = object_of(request.get("thinking")).get("type") == "disabled"
    return request.get("reasoning_effort") == "none" or is_disabled or False in switches


def _check_format(answer: AnsweredRow, wanted: Mapping[str, Any]) -> Iterator[Check]:
    kind, content = wanted.get("type"), answer.content
    schema = object_of(wanted.get("json_schema")).get("schema") if kind == "json_schema" else None
    try:
        value = parse_json_fast(content.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        yield True, "not_json", f"the text is not JSON: {error}", content or answer.message
        return
    is_other = kind == "json_object" and not isinstance(value, dict)
    yield is_other, "not_json", "the text is JSON, but not an object", content
    # A schema that cannot be used is the test set's fault.
    checked = usable_schema(schema) if schema is not None else ""
    with suppress(Undecided):
        for problem in checked.problems(value, 1) if not isinstance(checked, str) else ():
            yield True, "not_of_response_schema", (problem.message, "/".join(map(str, problem.path))), content


def _check_length(answer: AnsweredRow) -> Iterator[Check]:
    limit, tokens = _limit(answer.request), answer.usage.get("completion_tokens")
    if limit is not None:
        allowed = limit * max(1, len(answer.choices))
        letters, is_more = _excess_letters([answer.text], allowed), tokens is not None and tokens > allowed
        yield is_more, "more_than_max_tokens", (f"{tokens} tokens", limit), answer.reported_usage
        # For any way of counting.
        yield letters, "more_than_max_tokens", (f"{letters} characters", f"{limit} tokens"), answer.content
        is_short = answer.reason == "length" and tokens is not None and tokens < limit / 2 and not letters
        yield is_short, "length_before_limit", (tokens, limit), answer.reported_usage


def _excess_letters(texts: Iterable[str], tokens: int) -> int:
    """Count the letters of texts, with runs of one sign counted once; 0 if they fit into the given number of tokens."""
    most = MOST_LETTERS * tokens + SLACK
    letters = sum(len(REPEATED.sub(r"\1", text)) for text in texts) if sum(map(len, texts)) > most else 0
    return letters if letters > most else 0


def _check_logprobs(answer: AnsweredRow, logprobs: Mapping[str, Any]) -> Iterator[Check]:
    wanted, tokens = answer.request.get("top_logprobs"), logprobs.get("content")
    is_missing = not any(logprobs.values())
    yield is_missing and answer.content, "logprobs_missing", "", answer.choice.get("logprobs")
    if isinstance(wanted, int) and isinstance(tokens, list) and not is_missing:
        fewest = min((len(alternatives_of(token)) for token in tokens), default=wanted)
        yield fewest < wanted, "top_logprobs_missing", (fewest, wanted), tokens[:1]


def check_schema(answer: AnsweredRow) -> Iterator[Check]:
    """Yield the verdicts on the calls, and checks of what verdicts leave out."""
    calls = answer.made
    for number, (call, verdict) in enumerate(zip(calls, objects_of(answer.row.get("calls")), strict=False), 1):
        for reason in verdict.get("reasons") or ():
            meaning = CALL_REASONS.get(reason, "")
            said = f"call {number}, of {verdict.get('name')}: {meaning} ({verdict.get('detail') or meaning})"
            yield meaning, reason, said, call
    for function in map(function_of, calls):
        name, text = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name not in answer.tool_schemas:
            near = [other for other in answer.tool_schemas if _bare_name(other) == _bare_name(name)]
            yield near, "name_nearly_offered", (name, *near[:1]), function
        if isinstance(text, str) and text:
            yield from _check_arguments(function, text)


def _bare_name(name: str) -> str:
    return re.split(r"[.:/]", name.strip())[-1].casefold()


def _check_arguments(function: Mapping[str, Any], text: str) -> Iterator[Check]:
    repeated: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(value := dict(pairs)) < len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return value

    with suppress(ValueError, RecursionError):
        value = json.loads(text, object_pairs_hook=read_object)
        is_object = isinstance(value, dict)
        yield not is_object, "arguments_not_object", type(value).__name__, function
        yield is_object and repeated, "duplicate_keys", (*repeated[:1],), function
        yield isinstance(value, str) and isinstance(json.loads(value), dict), "arguments_encoded_twice", "", function


def check_usage(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the types, sums and plausibility of the token counts."""
    if not answer.reported_usage:
        yield not answer.request.get("stream") or read_request(answer.request).wants_usage, "usage_missing", ""
        return
    prompt, completion, total = map(answer.usage.get, TOKENS)
    wrong = [name for name in TOKENS if name not in answer.usage]
    yield wrong, "usage_not_counts", ", ".join(wrong)
    if prompt is not None and completion is not None:
        summed = prompt + completion
        yield total not in (None, summed), "total_not_sum", (total, prompt, completion, summed)
    for name, key, whole in (("completion", "reasoning_tokens", completion), ("prompt", "cached_tokens", prompt)):
        part = object_of(answer.reported_usage.get(f"{name}_tokens_details")).get(key)
        yield part is not None and not is_count(part), "usage_details_wrong", f"{key} is not a count"
        is_more = is_count(part) and whole is not None and part > whole
        yield is_more, "usage_details_wrong", f"{part} {key} of {whole} tokens"
    yield completion == 0 and answer.text, "completion_tokens_zero", len(answer.text)
    if completion and answer.text:
        yield from _check_completion_tokens(answer, completion)
    if prompt is not None:
        yield from _check_prompt_tokens(answer, prompt)


def _check_completion_tokens(answer: AnsweredRow, counted: int) -> Iterator[Check]:
    hidden, own = answer.usage.get("reasoning_tokens", 0), answer.count(answer.text)
    if own is not None:
        seen = counted - (0 if answer.reasoning else hidden)
        yield _differ(answer, seen, own), "own_count_differs", (seen, "answer", own)
        return
    letters, size = _excess_letters([answer.text], counted), len(answer.text.encode("utf-8", "surrogatepass"))
    yield letters, "completion_tokens_too_few", (counted, letters)
    most = size + SLACK * (1 + len(answer.listed_calls))
    yield counted - hidden > most, "completion_tokens_too_many", (counted, size)


def _differ(answer: AnsweredRow, counted: int, own: int) -> bool:
    """Return whether a token count deviates from the count of the model's own tokenizer."""
    return abs(counted - own) > AGREEMENT * own + SLACK * (1 + len(answer.listed_calls))


def _check_prompt_tokens(answer: AnsweredRow, counted: int) -> Iterator[Check]:
    contents = [message.get("content") for message in objects_of(answer.request.get("messages"))]
    texts, prompt = [content for content in contents if isinstance(content, str)], answer.request.get("prompt")
    if isinstance(prompt, str) and not contents and (own := answer.count(prompt)) is not None:
        yield _differ(answer, counted, own), "own_count_differs", (counted, "prompt", own)
    # Images and sound have tokens of their own.
    if answer.request.get("messages") and not any(isinstance(content, list) for content in contents):
        letters = _excess_letters(texts, counted + 1)
        yield letters, "prompt_tokens_implausible", (counted, f"{letters} characters")
        if not letters and counted > 2 * sum(map(len, texts)) + OF_A_TEMPLATE:
            keys = ("messages", "tools", "functions", "response_format")
            size = len(json.dumps([answer.request.get(key) for key in keys]))
            yield counted > 2 * size + OF_A_TEMPLATE, "prompt_tokens_implausible", (counted, f"{size} bytes")


def check_model(answer: AnsweredRow) -> Iterator[Check]:
    """Yield the check that the answer names the model of the request."""
    asked, served = answer.request.get("model"), answer.response.get("model")
    if isinstance(asked, str) and isinstance(served, str) and asked and served:
        yield not same_model(asked, served), "other_model", (asked, served), {"model": served}


def same_model(asked: str, served: str) -> bool:
    """Return whether two names may mean the same model; publisher, snapshot and case may differ."""
    short, long = sorted((name.rpartition("/")[2].casefold() for name in (asked, served)), key=len)
    return long == short or (long.startswith(short) and SNAPSHOT.fullmatch(long, len(short)) is not None)


CHECKS = (check_form, check_calls, check_constraints, check_schema, check_text, check_usage, check_model)
