"""Right answers: which request gets a call, and in which form."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import offered_functions, usage_document
from trialbed_scripted._turns import Turn
from trialbed_scripted.schemas import valid_json
from trialbed_scripted.vendor._solutions import Solution

TEXT = "This needs no tool. Here is what there is to say about it."

LETTERS = 4
"""Characters of a token."""

SPARE = Call("lookup", "{}")
"""The call where a fault needs one and no tool was offered."""

FORMS = frozenset(("tool_choice", "response_format", "max_tokens", "max_completion_tokens", "stop"))
"""Parameters that say nothing about what is right, only about the form of an answer."""


def decide_turn(request: Mapping[str, Any], share: float, *, inverted: bool = False) -> Turn:
    """Answer a request whose right answer is not known: a call of one of its tools, or a text.

    Which of the two depends only on the conversation and the tools, so that two vendors agree, unless the
    decision of one of them is ``inverted``.

    Args:
        share: of the requests with tools that get a call.
    """
    calls = (spare_call(request),) if possible_calls(request) and (_draw(request) < share) != inverted else ()
    return _obey(Turn(TEXT, calls), request)


def solve_turn(
    solution: Solution, request: Mapping[str, Any], chance: random.Random, *, inverted: bool = False
) -> Turn:
    """Answer a request whose right answer is known.

    Args:
        chance: for what sampling decides.
        inverted: whether a text comes instead of calls, and a call instead of a text.
    """
    calls = tuple(
        Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in solution.get("calls") or ()
    )
    if inverted:
        calls = () if calls else possible_calls({**request, "tool_choice": None})[:1]
    text = _sample(solution, request, chance)
    return replace(_obey(Turn(text, calls), request), instead=text)


def possible_calls(request: Mapping[str, Any]) -> tuple[Call, ...]:
    """Make a right call of each tool that the request lets the model call, as far as there is one."""
    name = _chosen_name(request)
    functions = [item for item in offered_functions(request) if name in (None, item["name"])]
    found = [(item["name"], valid_json(item.get("parameters"))) for item in functions]
    return tuple(Call(name, arguments) for name, arguments in found if arguments is not None)


def spare_call(request: Mapping[str, Any]) -> Call:
    """Make a call, for a fault that needs one."""
    possible = possible_calls(request)
    return possible[int(_draw(request) * 1000) % len(possible)] if possible else SPARE


def usage_of(request: Mapping[str, Any], turn: Turn) -> dict[str, int]:
    """Count the tokens of a request and its answer."""
    length = sum(len(call.name) + len(call.arguments) for call in turn.calls) if turn.calls else len(turn.text or "")
    return usage_document(len(json.dumps(request)) // LETTERS, length // LETTERS)


def digest_of(request: Mapping[str, Any]) -> str:
    """Identify the conversation and the tools of a request."""
    asked = [request.get("messages") or request.get("prompt"), request.get("tools")]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _draw(request: Mapping[str, Any]) -> float:
    return int(digest_of(request)[:16], 16) / 2**64


def _sample(solution: Solution, request: Mapping[str, Any], chance: random.Random) -> str:
    """Choose the text, one of several where sampling decides: by the seed, or by chance unless the temperature is 0."""
    texts: Sequence[Any] = solution.get("variations") or [solution.get("text") or TEXT]
    if request.get("temperature") == 0 or len(texts) == 1:
        return str(texts[0])
    seed = request.get("seed")
    draw = random.Random(seed) if isinstance(seed, int) else chance  # noqa: S311 - the same seed chooses the same
    return str(draw.choice(texts))


def _obey(turn: Turn, request: Mapping[str, Any]) -> Turn:
    """Bring the turn into the form that the request demands."""
    text, calls = _format(turn.text or "", request), _allow(turn.calls, request)
    said = Turn("" if calls else text, calls, instead=text)
    cut = _limit(said, request)
    return replace(cut, usage=cut.usage or usage_of(request, cut), logprobs=_logprobs(cut.text or "", request))


def _allow(calls: tuple[Call, ...], request: Mapping[str, Any]) -> tuple[Call, ...]:
    choice, name = request.get("tool_choice"), _chosen_name(request)
    if choice == "none":
        return ()
    if name is not None and all(call.name != name for call in calls):
        forced = [item for item in offered_functions(request) if item["name"] == name]
        calls = tuple(Call(name, valid_json(item.get("parameters")) or "{}") for item in forced[:1]) or calls
    elif choice == "required" and not calls and possible_calls(request):
        calls = (spare_call(request),)
    return calls[:1] if request.get("parallel_tool_calls") is False else calls


def _chosen_name(request: Mapping[str, Any]) -> Any:
    choice = request.get("tool_choice")
    function = choice.get("function") if isinstance(choice, Mapping) else None
    return function.get("name") if isinstance(function, Mapping) else None


def _format(text: str, request: Mapping[str, Any]) -> str:
    wanted = request.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    if kind in ("json_object", "json_schema"):
        described = wanted.get("json_schema") if isinstance(wanted, Mapping) else None
        schema = described.get("schema") if isinstance(described, Mapping) else None
        made = valid_json(schema) if isinstance(schema, Mapping) else None
        text = made or json.dumps({"answer": text}, ensure_ascii=False)
    stops = request.get("stop") or ()
    for stop in [stops] if isinstance(stops, str) else stops:
        if isinstance(stop, str) and stop:
            text = text.partition(stop)[0]
    return text


def _limit(turn: Turn, request: Mapping[str, Any]) -> Turn:
    asked = [request.get(key) for key in ("max_completion_tokens", "max_tokens")]
    limits = [limit for limit in asked if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0]
    letters = min(limits, default=0) * LETTERS
    length = len(turn.text or "") + sum(len(call.name) + len(call.arguments) for call in turn.calls)
    if not limits or length <= letters:
        return turn
    calls = tuple(
        replace(call, arguments=call.arguments[: max(0, letters - len(call.name))]) for call in turn.calls[:1]
    )
    usage = usage_document(len(json.dumps(request)) // LETTERS, min(limits))
    return replace(turn, text=(turn.text or "")[:letters], calls=calls, finish_reason="length", usage=usage)


def _logprobs(text: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    alternatives = request.get("top_logprobs", 1)
    if request.get("logprobs") is not True or not isinstance(alternatives, int):
        return None
    words = text.split(" ")[:200] or [""]
    return {"content": [_token(word, max(1, min(alternatives, 20))) for word in words]}


def _token(word: str, alternatives: int) -> dict[str, Any]:
    top = [
        {"token": f"{word}{'.' * number}", "logprob": -0.1 - number, "bytes": None} for number in range(alternatives)
    ]
    return {**top[0], "top_logprobs": top}
