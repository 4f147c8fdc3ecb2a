"""Known right answers in the form that a request demands: simulated vendors obey, unless a fault has them ignore it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import offered_functions, usage_document
from trialbed_scripted.faults._answers import LETTERS, TEXT, Answer, right_answer, usage_of
from trialbed_scripted.faults._arguments import valid_arguments
from trialbed_scripted.faults._solutions import Solution

FORMS = frozenset(("tool_choice", "response_format", "max_tokens", "max_completion_tokens", "stop"))
"""Parameters that say nothing about what is right, only about the form of an answer."""


def solved(solution: Solution, request: Mapping[str, Any], chance: random.Random, *, inverted: bool = False) -> Answer:
    """The answer to a request whose right answer is known.

    Args:
        chance: for what sampling decides.
        inverted: whether a text comes instead of calls, and a call instead of a text.
    """
    plain = right_answer({key: value for key, value in request.items() if key not in FORMS}, 0.0)
    calls = _known_calls(solution)
    if inverted:
        calls = () if calls else plain.offered[:1]
    text = _sampled(solution, request, chance)
    answer = replace(
        plain,
        calls=calls,
        text="" if calls else text,
        instead=text,
        finish_reason="tool_calls" if calls else "stop",
        request=request,
    )
    return _obedient(answer, request)


def with_logprobs(answer: Answer, request: Mapping[str, Any]) -> Answer:
    """The answer with log probabilities, if the request asks for them."""
    alternatives = request.get("top_logprobs", 1)
    if request.get("logprobs") is not True or not isinstance(alternatives, int):
        return answer
    return replace(answer, logprobs=_logprobs(answer.text, max(1, min(alternatives, 20))))


def _known_calls(solution: Solution) -> tuple[Call, ...]:
    return tuple(
        Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in solution.get("calls") or ()
    )


def _sampled(solution: Solution, request: Mapping[str, Any], chance: random.Random) -> str:
    """The text, one of several where sampling decides: by the seed, or by chance unless the temperature is 0."""
    texts = solution.get("variations") or [solution.get("text") or TEXT]
    if request.get("temperature") == 0 or len(texts) == 1:
        return str(texts[0])
    seed = request.get("seed")
    draw = random.Random(seed) if isinstance(seed, int) else chance  # noqa: S311 - the same seed chooses the same
    return str(draw.choice(texts))


def _obedient(answer: Answer, request: Mapping[str, Any]) -> Answer:
    answer = _formatted(_parallel(_chosen(answer, request), request), request)
    return _limited(replace(answer, usage=usage_of(request, answer.text, answer.calls)), request)


def _chosen(answer: Answer, request: Mapping[str, Any]) -> Answer:
    choice = request.get("tool_choice")
    if choice == "none" and answer.calls:
        return replace(answer, calls=(), text=answer.text or answer.instead, finish_reason="stop")
    if choice == "required" and not answer.calls and answer.offered:
        return _calling(answer, answer.spare)
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if name and all(call.name != name for call in answer.calls):
        schemas = {item["name"]: item.get("parameters") for item in offered_functions(request)}
        if name in schemas:
            return _calling(answer, Call(name, valid_arguments(schemas[name]) or "{}"))
    return answer


def _calling(answer: Answer, call: Call) -> Answer:
    return replace(answer, calls=(call,), text="", finish_reason="tool_calls")


def _parallel(answer: Answer, request: Mapping[str, Any]) -> Answer:
    return replace(answer, calls=answer.calls[:1]) if request.get("parallel_tool_calls") is False else answer


def _formatted(answer: Answer, request: Mapping[str, Any]) -> Answer:
    form = request.get("response_format")
    kind = form.get("type") if isinstance(form, Mapping) else None
    if answer.calls or kind not in ("json_object", "json_schema"):
        return answer
    described = form.get("json_schema") if isinstance(form, Mapping) else None
    schema = described.get("schema") if isinstance(described, Mapping) else None
    made = valid_arguments(schema) if isinstance(schema, Mapping) else None
    return replace(answer, text=made or json.dumps({"answer": answer.text}, ensure_ascii=False))


def _limited(answer: Answer, request: Mapping[str, Any]) -> Answer:
    limit = request.get("max_tokens") or request.get("max_completion_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        return answer
    letters = limit * LETTERS
    whole = len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.calls)
    if whole <= letters:
        return answer
    calls = tuple(Call(call.name, call.arguments[: max(0, letters - len(call.name))]) for call in answer.calls[:1])
    usage = None if answer.usage is None else usage_document(answer.usage["prompt_tokens"], limit)
    return replace(answer, text=answer.text[:letters], calls=calls, finish_reason="length", usage=usage)


def _logprobs(text: str, alternatives: int) -> dict[str, Any]:
    words = text.split(" ")[:200] or [""]
    return {"content": [_token(word, alternatives) for word in words]}


def _token(word: str, alternatives: int) -> dict[str, Any]:
    top = [
        {"token": f"{word}{'.' * number}", "logprob": -0.1 - number, "bytes": None} for number in range(alternatives)
    ]
    return {**top[0], "top_logprobs": top}
