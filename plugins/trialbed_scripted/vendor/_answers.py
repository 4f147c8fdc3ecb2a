"""Right answers: the choice between calls and texts, and the form of the answer."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trialbed.wire import Call, ModelRequest, TokenLogprob, usage_counts
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.schemas import valid_json
from trialbed_scripted.vendor._solutions import Solution

TEXT = "This needs no tool. Here is what there is to say about it."

LETTERS = 4
"""Characters per token."""

SPARE = Call("lookup", "{}")
"""The call for faults that need one when no tool is offered."""


def decide_turn(request: ModelRequest, share: float, *, inverted: bool = False) -> ModelTurn:
    """Answer a request without a known right answer. The turn calls one of its tools or sends a text.

    The choice depends only on the conversation and the tools, so two vendors agree unless one of them is ``inverted``.

    Args:
        share: the share of requests with tools that get a call.
    """
    calls = (spare_call(request),) if possible_calls(request) and (_draw(request) < share) != inverted else ()
    return _obey(ModelTurn(TEXT, calls), request)


def solve_turn(
    solution: Solution, request: ModelRequest, chance: random.Random, *, inverted: bool = False
) -> ModelTurn:
    """Answer a request with a known right answer.

    Args:
        chance: the random generator for sampling.
        inverted: sends a text instead of calls, and a call instead of a text.
    """
    calls = tuple(
        Call(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in solution.get("calls") or ()
    )
    if inverted:
        calls = () if calls else _calls_of(request)[:1]
    text = _sample(solution, request, chance)
    return replace(_obey(ModelTurn(text, calls), request), instead=text)


def possible_calls(request: ModelRequest) -> tuple[Call, ...]:
    """Return a right call of each tool that the model may call. Tools without a valid call are skipped."""
    return _calls_of(request, request.tool_choice.name)


def _calls_of(request: ModelRequest, name: str = "") -> tuple[Call, ...]:
    """Return a right call of each tool, or of the tool with this name. Tools without a valid call are skipped."""
    found = [(tool.name, valid_json(tool.parameters)) for tool in request.tools if name in ("", tool.name)]
    return tuple(Call(name, arguments) for name, arguments in found if arguments is not None)


def spare_call(request: ModelRequest) -> Call:
    """Return a call for a fault that needs one."""
    possible = possible_calls(request)
    return possible[int(_draw(request) * 1000) % len(possible)] if possible else SPARE


def usage_of(request: ModelRequest, turn: ModelTurn) -> dict[str, int]:
    length = sum(len(call.name) + len(call.arguments) for call in turn.calls) if turn.calls else len(turn.text or "")
    return usage_counts(len(json.dumps(request.document)) // LETTERS, length // LETTERS)


def digest_of(request: ModelRequest) -> str:
    read = [part or None for part in request.prompt.values()]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def _draw(request: ModelRequest) -> float:
    return int(digest_of(request)[:16], 16) / 2**64


def _sample(solution: Solution, request: ModelRequest, chance: random.Random) -> str:
    """Choose one of several texts, by the seed or by chance. A temperature of 0 gives the first."""
    texts: Sequence[Any] = solution.get("variations") or [solution.get("text") or TEXT]
    wanted = request.generation
    if wanted.temperature == 0 or len(texts) == 1:
        return str(texts[0])
    draw = chance if wanted.seed is None else random.Random(wanted.seed)  # noqa: S311 - equal seeds choose the same
    return str(draw.choice(texts))


def _obey(turn: ModelTurn, request: ModelRequest) -> ModelTurn:
    """Bring the turn into the form that the request demands."""
    text, calls = _format(turn.text or "", request), _allow(turn.calls, request)
    said = ModelTurn("" if calls else text, calls, instead=text)
    cut = _limit(said, request)
    return replace(cut, usage=cut.usage or usage_of(request, cut), logprobs=_logprobs(cut.text or "", request))


def _allow(calls: tuple[Call, ...], request: ModelRequest) -> tuple[Call, ...]:
    mode, name = request.tool_choice.mode, request.tool_choice.name
    if mode == "none":
        return ()
    if name and all(call.name != name for call in calls):
        forced = [tool for tool in request.tools if tool.name == name]
        calls = tuple(Call(name, valid_json(tool.parameters) or "{}") for tool in forced[:1]) or calls
    elif mode == "required" and not calls and possible_calls(request):
        calls = (spare_call(request),)
    return calls if request.generation.parallel_calls else calls[:1]


def _format(text: str, request: ModelRequest) -> str:
    wanted = request.generation
    if wanted.reply_schema is not None:
        made = valid_json(wanted.reply_schema) if wanted.reply_schema else None
        text = made or json.dumps({"answer": text}, ensure_ascii=False)
    for stop in wanted.stop:
        text = text.partition(stop)[0]
    return text


def _limit(turn: ModelTurn, request: ModelRequest) -> ModelTurn:
    limit = request.generation.max_tokens
    length = len(turn.text or "") + sum(len(call.name) + len(call.arguments) for call in turn.calls)
    if limit is None or length <= limit * LETTERS:
        return turn
    letters = limit * LETTERS
    calls = tuple(
        replace(call, arguments=call.arguments[: max(0, letters - len(call.name))]) for call in turn.calls[:1]
    )
    usage = usage_counts(len(json.dumps(request.document)) // LETTERS, limit)
    return replace(turn, text=(turn.text or "")[:letters], calls=calls, finish_reason="length", usage=usage)


def _logprobs(text: str, request: ModelRequest) -> tuple[TokenLogprob, ...] | None:
    number = request.generation.top_logprobs
    if number is None:
        return None
    words = text.split(" ")[:200] or [""]
    return tuple(_token(word, max(1, min(number, 20))) for word in words)


def _token(word: str, number: int) -> TokenLogprob:
    alternatives = tuple((f"{word}{'.' * place}", -0.1 - place) for place in range(number))
    return *alternatives[0], alternatives
