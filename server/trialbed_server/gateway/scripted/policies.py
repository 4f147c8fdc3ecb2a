"""The policies: pure functions of the script, the tools on offer and the conversation so far.

What each of them does to a framework, and so the right value of every score, is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trialbed.chat import Call
from trialbed.evidence import evidence_values
from trialbed.prompts import GIVE_UP
from trialbed.records import ScriptedCall
from trialbed_server.gateway.scripted.arguments import argument_text, minimal_arguments, wrong_arguments

MAX_VALUES = 50
"""Values that an answer tells of one result."""

FOUND = "Here is what I found: "
NOTHING_FOUND = "I have no results to report."
NO_TOOL_TEXT = "I can answer this without any tool."
NO_RESULT_TEXT = "I called the tools but have no result to report."
GIVE_UP_TEXT = f"{GIVE_UP} These tools do not solve the task."


@dataclass(frozen=True)
class Turn:
    """One message of the model: tool calls, or a text without any."""

    calls: tuple[Call, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class PolicyInput:
    """All that a policy may know.

    Attributes:
        script: the gold calls, in order.
        offered: the tools on offer: name -> JSON Schema of the arguments, in the order of the request.
        messages: the conversation so far, in OpenAI's form.
    """

    script: Sequence[ScriptedCall]
    offered: Mapping[str, Mapping[str, Any]]
    messages: Sequence[Any]

    @property
    def position(self) -> int:
        """The number of turns that the model has had."""
        return sum(isinstance(message, dict) and message.get("role") == "assistant" for message in self.messages)


Policy = Callable[[PolicyInput], Turn]


def gold(given: PolicyInput) -> Turn:
    """The gold calls, one per turn, then the answer with their evidence."""
    return _sequence(given, [_right(call) for call in given.script])


def parallel(given: PolicyInput) -> Turn:
    """All gold calls in one turn, then the answer with their evidence."""
    if given.position == 0 and given.script:
        return Turn(tuple(_right(call) for call in given.script))
    return _answer(given)


def none(_given: PolicyInput) -> Turn:
    """Answers at once, without evidence."""
    return Turn(text=NO_TOOL_TEXT)


def partial(given: PolicyInput) -> Turn:
    """All gold calls but the last, then the answer with their evidence."""
    return _sequence(given, [_right(call) for call in given.script[:-1]])


def reordered(given: PolicyInput) -> Turn:
    """The gold calls in reverse order, then the answer with their evidence."""
    return _sequence(given, [_right(call) for call in reversed(given.script)])


def extra(given: PolicyInput) -> Turn:
    """As gold, but with a call of a tool that is not gold, if one is offered, before the answer."""
    gold_names = {call.name for call in given.script}
    others = [name for name in given.offered if name not in gold_names][:1]
    calls = [Call(name, argument_text(minimal_arguments(given.offered[name]))) for name in others]
    return _sequence(given, [*map(_right, given.script), *calls])


def wrong_args(given: PolicyInput) -> Turn:
    """Every gold call once with arguments that violate its schema, then an answer without evidence."""
    if given.position < len(given.script):
        return Turn((_wrong(given, given.script[given.position]),))
    return Turn(text=NO_RESULT_TEXT)


def bad_json(given: PolicyInput) -> Turn:
    """First a gold call whose arguments do not parse, then as gold."""
    return _sequence(given, _with_false_start(given.script, lambda call: Call(call.name, _right(call).arguments[:-1])))


def unknown_tool(given: PolicyInput) -> Turn:
    """First a call of a tool that is not offered, then as gold."""
    return _sequence(given, [Call(_unoffered(given), "{}"), *map(_right, given.script)])


def retry(given: PolicyInput) -> Turn:
    """The first gold call with arguments that violate its schema, then as gold."""
    return _sequence(given, _with_false_start(given.script, lambda call: _wrong(given, call)))


def loop(given: PolicyInput) -> Turn:
    """The first gold call again and again; never ends."""
    return Turn((_right(given.script[0]),)) if given.script else _answer(given)


def slow(given: PolicyInput) -> Turn:
    """As gold, but slowly."""
    return gold(given)


def giveup(given: PolicyInput) -> Turn:
    """The first gold call, then gives up."""
    if given.position == 0 and given.script:
        return Turn((_right(given.script[0]),))
    return Turn(text=GIVE_UP_TEXT)


POLICIES: MappingProxyType[str, Policy] = MappingProxyType(
    {
        policy.__name__.replace("_", "-"): policy
        for policy in (
            gold,
            parallel,
            none,
            partial,
            reordered,
            extra,
            wrong_args,
            bad_json,
            unknown_tool,
            retry,
            loop,
            slow,
            giveup,
        )
    }
)
"""Every policy by the name that follows ``scripted:``."""


def policy_names() -> tuple[str, ...]:
    """What can follow ``scripted:``."""
    return tuple(POLICIES)


def _sequence(given: PolicyInput, calls: Sequence[Call]) -> Turn:
    return Turn((calls[given.position],)) if given.position < len(calls) else _answer(given)


def _answer(given: PolicyInput) -> Turn:
    return Turn(text=answer_with_evidence(given.messages))


def _right(call: ScriptedCall) -> Call:
    return Call(call.name, argument_text(call.arguments))


def _wrong(given: PolicyInput, call: ScriptedCall) -> Call:
    schema = given.offered.get(call.name, {"type": "object"})
    return Call(call.name, argument_text(wrong_arguments(call.arguments, schema)))


def _with_false_start(script: Sequence[ScriptedCall], spoil: Callable[[ScriptedCall], Call]) -> list[Call]:
    return [*map(spoil, script[:1]), *map(_right, script)]


def _unoffered(given: PolicyInput) -> str:
    name = "tool_that_is_not_offered"
    while name in given.offered:
        name += "_"
    return name


def answer_with_evidence(messages: Sequence[Any]) -> str:
    """A text that carries the distinctive values of every tool result except errors."""
    results = (evidence_values(text)[:MAX_VALUES] for text in _tool_results(messages) if not text.startswith("Error:"))
    values = dict.fromkeys(value for result in results for value in result)
    return f"{FOUND}{'; '.join(values)}." if values else NOTHING_FOUND


def _tool_results(messages: Iterable[Any]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "tool":
            yield _text(message.get("content"))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
