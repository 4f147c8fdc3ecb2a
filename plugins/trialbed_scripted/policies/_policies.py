"""The policies are pure functions of the script, the offered tools and the conversation so far.

The effect of each policy on a framework is known in advance, and therefore the right value of every score. In
conversations with several messages of the user, a policy is played for each message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from types import MappingProxyType

from trialbed.evidence import Passages, carries, every_value
from trialbed.records import GIVE_UP, Json, LostCall, ScriptedCall
from trialbed.wire import ModelMessage, ModelRequest, lenient_json
from trialbed_scripted._scripts import ModelTurn
from trialbed_scripted.policies._names import POLICY_NAMES
from trialbed_scripted.policies._tools import Lost, PlannedCall, Tools

MAX_VALUES = 50
"""Most values of one result that an answer repeats."""

FOUND = "Here is what I found: "
NOTHING_FOUND = "I have no results to report."
NO_TOOL_TEXT = "I can answer this without any tool."
NO_RESULT_TEXT = "I called the tools but have no result to report."
GIVE_UP_TEXT = f"{GIVE_UP} These tools do not solve the task."


@dataclass(frozen=True)
class PolicyInput:
    """Everything that a policy may know.

    Attributes:
        script: the expected calls, in order.
        tools: the tools that the request offers.
        messages: the conversation since the user's last message.
        places: the positions of these calls in the script of the whole conversation; empty if it is all of it.
    """

    script: Sequence[ScriptedCall]
    tools: Tools
    messages: Sequence[ModelMessage]
    places: Sequence[int] = ()

    @property
    def rights(self) -> list[Step]:
        """The steps that make the expected calls."""
        return [methodcaller("right", place, call) for place, call in self._calls]

    @property
    def wrongs(self) -> list[Step]:
        """The steps that make the expected calls with invalid arguments."""
        return [methodcaller("wrong", place, call) for place, call in self._calls]

    @property
    def _calls(self) -> zip[tuple[int, ScriptedCall]]:
        return zip(self.places or range(len(self.script)), self.script, strict=True)

    @property
    def position(self) -> int:
        """The number of calls by the model that the conversation still shows.

        Messages from the framework do not count, such as prompts or its own texts in the model's name.
        """
        return len(self.call_names)

    @property
    def call_names(self) -> list[str]:
        """The names of these calls."""
        return [call.name for message in self.messages if message.role == "assistant" for call in message.calls]


Step = Callable[[Tools], PlannedCall]
"""Plans a call with the offered tools. Raises ``Lost`` if it cannot be made."""

Policy = Callable[[PolicyInput], ModelTurn]


def gold(given: PolicyInput) -> ModelTurn:
    """The expected calls, one per turn, then the answer with their evidence."""
    return _one_by_one(given, given.rights)


def parallel(given: PolicyInput) -> ModelTurn:
    """All expected calls in one turn, then the answer with their evidence."""
    calls, lost = _possible(given, given.rights)
    if given.position or not calls:
        return _answer(given, lost)
    return _turn(calls, lost)


def none(_given: PolicyInput) -> ModelTurn:
    """Answers immediately, without evidence."""
    return ModelTurn(text=NO_TOOL_TEXT)


def partial(given: PolicyInput) -> ModelTurn:
    """All expected calls but the last, then the answer with their evidence."""
    return _one_by_one(given, given.rights[:-1])


def reordered(given: PolicyInput) -> ModelTurn:
    """The expected calls in reverse order, then the answer with their evidence."""
    return _one_by_one(given, given.rights[::-1])


def extra(given: PolicyInput) -> ModelTurn:
    """As ``gold``, but with a call of a tool that is not expected, if one is offered, before the answer."""
    other = given.tools.other(call.name for call in given.script)
    return _one_by_one(given, [*given.rights, *([] if other is None else [lambda _tools: other])])


def wrong_args(given: PolicyInput) -> ModelTurn:
    """Every expected call once with arguments that violate its schema, then an answer without evidence."""
    return _one_by_one(given, given.wrongs, NO_RESULT_TEXT)


def bad_json(given: PolicyInput) -> ModelTurn:
    """First an expected call whose arguments do not parse, then as ``gold``."""
    return _one_by_one(given, [*map(_cut, given.rights[:1]), *given.rights])


def unknown_tool(given: PolicyInput) -> ModelTurn:
    """First a call of a tool that is not offered, then as ``gold``."""
    return _one_by_one(given, [Tools.unknown, *given.rights])


def retry(given: PolicyInput) -> ModelTurn:
    """The first expected call with arguments that violate its schema, then as ``gold``."""
    return _one_by_one(given, [*given.wrongs[:1], *given.rights])


def loop(given: PolicyInput) -> ModelTurn:
    """The first expected call again and again; never ends."""
    calls, lost = _possible(given, given.rights[:1])
    return _turn(calls, lost) if calls else _answer(given, lost)


def slow(given: PolicyInput) -> ModelTurn:
    """As ``gold``, but slowly."""
    return gold(given)


def giveup(given: PolicyInput) -> ModelTurn:
    """The first expected call, then gives up."""
    return _one_by_one(given, given.rights[:1], GIVE_UP_TEXT)


POLICIES: MappingProxyType[str, Policy] = MappingProxyType(
    {name: globals()[name.replace("-", "_")] for name in POLICY_NAMES}
)
"""Every policy by the name that follows ``scripted:``."""


def _cut(step: Step) -> Step:
    """Truncate the arguments of the call, which makes them invalid JSON."""
    return lambda tools: step(tools).cut()


def _one_by_one(given: PolicyInput, steps: Sequence[Step], end: str | None = None) -> ModelTurn:
    """Make the next possible call after the calls in the conversation, or send a text at the end.

    An agent that takes over from another one has other tools, but its conversation shows the earlier calls.
    """
    done, lost, made = given.position, [], Counter(given.call_names)
    for step in steps:
        try:
            call = step(given.tools)
        except Lost as error:
            if made[error.record.tool]:
                made[error.record.tool] -= 1
                done -= 1
            else:
                lost.append(error.record)
            continue
        if done == 0:
            return _turn([call], lost)
        done -= 1
    return _answer(given, lost) if end is None else ModelTurn(text=end, lost=tuple(lost))


def _possible(given: PolicyInput, steps: Sequence[Step]) -> tuple[list[PlannedCall], list[LostCall]]:
    calls, lost = [], []
    for step in steps:
        try:
            calls.append(step(given.tools))
        except Lost as error:
            lost.append(error.record)
    return calls, lost


def _turn(calls: Sequence[PlannedCall], lost: Iterable[LostCall]) -> ModelTurn:
    return ModelTurn(
        calls=tuple(planned.call for planned in calls),
        played=tuple(planned.position for planned in calls if planned.position is not None),
        lost=tuple(lost),
        filled=tuple(argument for planned in calls for argument in planned.filled),
    )


def _answer(given: PolicyInput, lost: Iterable[LostCall]) -> ModelTurn:
    return ModelTurn(text=answer_with_evidence(given.messages), lost=tuple(lost))


def answer_with_evidence(messages: Sequence[ModelMessage]) -> str:
    """Write a text with the values of all successful tool results, the distinctive values of each result first."""
    texts = (_unquote(message.text) for message in messages if message.role == "tool" and not message.is_error)
    results = (every_value(text)[:MAX_VALUES] for text in texts if not _is_error(text))
    values = dict.fromkeys(value for result in results for value in result)
    return f"{FOUND}{'; '.join(values)}." if values else NOTHING_FOUND


def _is_error(text: str) -> bool:
    """Return whether a result is an error of an API or of a framework. Some frameworks write an object."""
    value = lenient_json(text) if text.startswith("{") else None
    return text.startswith("Error:") or (isinstance(value, dict) and list(value) == ["error"])


def _unquote(text: str) -> str:
    """Return the inner text of a result that the framework wrote as JSON, or as the ``result`` of an object."""
    inner = lenient_json(text) if text.startswith(('"', '{"result"')) else text
    if isinstance(inner, dict) and list(inner) == ["result"]:
        inner = inner["result"]
    return inner if isinstance(inner, str) else text


NOTED, ASK = "Noted", "Before I can use {tool}: which {argument} do you mean?"
ASK_TO_ACT = "Please do this: {call}."


@dataclass(frozen=True)
class UserMessage:
    """A message of the user in a conversation with several.

    Attributes:
        places: the positions of the expected calls for this message.
        facts: texts that a right answer contains.
        told: the texts in the trial so far, and the facts that the user can give.
        request: the action that the user is asked for after these calls, in words; empty for none.
    """

    text: str
    places: Sequence[int]
    facts: Sequence[str]
    told: Collection[str] = ()
    request: str = ""


def play_turn(policy: Policy, given: PolicyInput, request: ModelRequest, message: UserMessage) -> ModelTurn:
    """Play a policy over the expected calls for one message of the user.

    The model knows the content of the request. If the request lacks an argument of an expected call and the user said
    it earlier or can give it, the model asks for it. It infers all other arguments, such as a unit. An answer with
    evidence contains the expected facts that the request shows, and asks the user to act.
    """
    script = [given.script[place] for place in message.places]
    messages = _since(given.messages, message.text)
    own = policy(replace(given, script=script, messages=messages, places=message.places))
    shown, told = Passages(texts_of(request.messages)), Passages(message.told)
    expected = [call.arguments for call in script]
    # Compare truncated arguments, too: they may belong to an expected call.
    texts = [(call.name, text) for call in own.calls for text in (call.arguments, f"{call.arguments}}}")]
    made = [(name, arguments) for name, text in texts if (arguments := lenient_json(text)) in expected]
    leaves = [(tool, *leaf) for tool, arguments in made for leaf in _leaves("", arguments)]
    lacking = (leaf for leaf in leaves if not shown.mention(str(leaf[-1])) and told.mention(str(leaf[-1])))
    if (found := next(lacking, None)) is not None:
        return ModelTurn(text=ASK.format(tool=found[0], argument=found[1]))
    facts = "; ".join(fact for fact in message.facts if shown.mention(fact) and not carries(own.text or "", fact))
    if own.text == NOTHING_FOUND:
        parts = [f"{facts or NOTED}.", message.request]
    elif str(own.text).startswith(FOUND):
        parts = [str(own.text), facts and f"{facts}.", message.request]
    else:
        return own
    return replace(own, text=" ".join(filter(None, parts)))


def _since(messages: Sequence[ModelMessage], text: str) -> Sequence[ModelMessage]:
    """Return the messages from the user's text on, wherever the framework put it last."""
    places = [at for at, message in enumerate(messages) if message.role != "assistant" and text in message.text]
    return messages[places[-1] :] if places else messages


def texts_of(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield the texts of messages and the arguments of their calls."""
    for message in messages:
        yield message.text
        yield from (call.arguments for call in message.calls)


def _leaves(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the texts and numbers in arguments with the names of the arguments."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(name or key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value
