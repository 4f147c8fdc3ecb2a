"""A simulated vendor's model, which gives right answers to any request."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed.errors import UsageError
from trialbed.wire import Call, ModelMessage, ModelRequest, TokenLogprob, usage_counts
from trialbed.wire.dialects import dialect
from trialbed_scripted._scripts import ModelTurn, ReceivedRequest, Response, fail
from trialbed_scripted.schemas import valid_json

Solution = Mapping[str, Any]
"""``calls``, each with ``name`` and ``arguments``; ``text``; ``variations``, the texts for sampling."""


class Solutions:
    """The right answers to the requests of a test set."""

    def __init__(self) -> None:
        self._known: dict[bytes, Solution] = {}

    @classmethod
    def read(cls, path: str) -> Solutions:
        """Read the answers in the lines of a file, under ``suite`` and ``answer``. An empty path gives no answers.

        Raises:
            UsageError: the file cannot be read, or no line has an answer.
        """
        found = cls()
        if not path:
            return found
        try:
            with Path(path).open(encoding="utf-8") as file:
                for number, text in enumerate(file, 1):
                    found._add(path, number, text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"answers: test_set {path}: cannot be read: {error}") from error
        if not found._known:
            raise UsageError(f"answers: test_set {path}: no line has an answer; see bench verify --write-test-set")
        return found

    def of(self, request: ModelRequest) -> Solution | None:
        """Return the right answer to a request, if it is known."""
        return self._known.get(_key(request)) if self._known else None

    def _add(self, path: str, number: int, text: str) -> None:
        if not text.strip():
            return
        try:
            line = json.loads(text)
        except ValueError as error:
            raise UsageError(f"answers: test_set {path}, line {number}: not JSON: {error}") from error
        suite = line.get("suite") if isinstance(line, dict) else None
        answer = suite.get("answer") if isinstance(suite, dict) else None
        if isinstance(answer, dict):
            self._known[_key(dialect().read_request(line))] = answer


def _key(request: ModelRequest) -> bytes:
    """Return a digest of the parts of a request that determine the right answer, independent of the transport."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    content = [[_core(message) for message in request.messages], tools]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _core(message: ModelMessage) -> list[Any]:
    """Return the parts of a message that model adapters leave unchanged."""
    role = "system" if message.role == "_input" else message.role
    calls = [[call.name, call.arguments, call.id] for call in message.calls]
    return [role, message.content, calls, message.call_id]


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
    """Return the usage of a turn, by the characters of the request and of its calls or text."""
    length = sum(len(call.name) + len(call.arguments) for call in turn.calls) if turn.calls else len(turn.text or "")
    return usage_counts(len(json.dumps(request.document)) // LETTERS, length // LETTERS)


def _digest_of(request: ModelRequest) -> str:
    read = [part or None for part in request.prompt.values()]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()


def _draw(request: ModelRequest) -> float:
    return int(_digest_of(request)[:16], 16) / 2**64


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


class AnswerSetting(NamedTuple):
    """The effect and the default of a setting of right answers."""

    text: str
    default: Any


ANSWERS: MappingProxyType[str, AnswerSetting] = MappingProxyType(
    {
        "share": AnswerSetting("share of the requests with tools that get a call, 0 to 1", 0.45),
        "invert": AnswerSetting("whether these decisions are reversed", False),
        "flips": AnswerSetting("share of decisions that are reversed, drawn each time", 0.0),
        "test_set": AnswerSetting("a file of bench verify --write-test-set, whose right answers are given", ""),
        "first_token": AnswerSetting("seconds before the first token", 0.0),
        "gap": AnswerSetting("seconds before each further event", 0.0),
    }
)
"""The settings of right answers."""


class SimulatedVendor:
    """Answers the requests of a test set with their known answers, and others with a call for a share of them.

    Args:
        answers: settings by the keys of ``ANSWERS``.
        seed: the seed for all random choices.
    """

    def __init__(self, answers: Mapping[str, Any] = MappingProxyType({}), seed: int = 0) -> None:
        self._answers = {name: setting.default for name, setting in ANSWERS.items()} | dict(answers)
        self._seed = seed
        self._solutions = Solutions.read(self._answers["test_set"])

    def __call__(self, request: ReceivedRequest) -> ModelTurn | Response:
        """Answer a request rightly, with the settings of the vendor."""
        asked = request.asked
        flipped = request.draw(b"flip", self._seed).random() < self._answers["flips"]
        inverted = flipped is not self._answers["invert"]
        solution = self._solutions.of(asked)
        wrong = [name for name in (solution or {}).get("refusal", ()) if name in request.document]
        if wrong:
            return fail(400, f"wrong: {', '.join(wrong)}", "invalid_request_error", spoken=request.spoken)
        if solution is None:
            turn = decide_turn(asked, self._answers["share"], inverted=inverted)
        else:
            turn = solve_turn(solution, asked, request.draw(b"sample", self._seed), inverted=inverted)
        # Every answer has a unique id, as if the vendor had no cache.
        return replace(turn, id=f"{_digest_of(asked)[:12]}-{request.attempt}")
