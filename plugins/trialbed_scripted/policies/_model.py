"""Models that play a policy over known calls, in conversations that frameworks may write as text."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from trialbed.contracts import ModelQuestion, ModelReply, QuestionRefused, TrialModel
from trialbed.errors import UsageError
from trialbed.records import FilledArgument, LostCall, ScriptedCall, ToolSpec, TrialRegistration, WireLog
from trialbed.wire import Call, ModelAnswer, ModelMessage, ModelRequest, lenient_json, usage_counts
from trialbed.wire.dialects import Dialect
from trialbed.wire.estimates import estimated_tokens
from trialbed_scripted._scripts import ModelTurn, ReceivedRequest
from trialbed_scripted.policies._ending import as_demanded
from trialbed_scripted.policies._fields import CodeForm, FieldForm, read_form
from trialbed_scripted.policies._policies import ASK_TO_ACT, POLICIES, PolicyInput, UserMessage, play_turn, texts_of
from trialbed_scripted.policies._tools import Tools
from trialbed_scripted.schemas import bounded_effort

MOST = 1000
"""Most answers with calls to remember, the latest ones. Each one slows down later requests a little."""


@dataclass
class TextHistories:
    """The conversations of a trial or of a server's clients, with the calls that were sent in them.

    Some frameworks send a call back as text of the assistant and its result as text of the user, or drop a failed call.
    A real model reads the text, but a scripted one counts calls. If a conversation begins with the complete text of an
    earlier one, the calls sent there count as made, even if no message contains them.

    If the first request of a trial contains calls, these belong to a history from the agent, which ends with its last
    answer or result. It is removed from requests that begin with it.

    Attributes:
        shared: whether the conversations belong to several clients. Two clients may ask the same
            question, one with more text. A conversation then only continues an earlier one that ended with a text.
    """

    shared: bool = False
    _given: tuple[ModelMessage, ...] | None = None
    _sent: deque[tuple[int, str, int, int]] = field(default_factory=lambda: deque(maxlen=MOST))

    def note(self, messages: Sequence[ModelMessage], calls: int) -> None:
        """Record calls that are sent in answer to a conversation."""
        own = self._without_given(messages)
        text = _text(own)
        before, first = self._earlier(text, _ends(own))
        self._sent.append((len(text), _digest(text), before + calls, first or len(text)))

    def read(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        """Return a conversation with the calls that were sent in it and their results.

        Conversations that contain calls or results stay unchanged.
        """
        own = self._without_given(messages)
        if any(message.calls or message.role == "tool" for message in own):
            return own
        text = _text(own)
        calls, first = self._earlier(text, _ends(own))
        if not calls:
            return own
        results = [message for message in _after(own, first) if message.role != "assistant"]
        told = [ModelMessage(role="tool", content=text) for message in results for text in _results(message.text)]
        asked = ModelMessage(role="assistant", calls=tuple(Call("", "{}") for _ in range(calls)))
        return (*own, asked, *told)

    def _without_given(self, messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
        sent = tuple(messages)
        if self._given is None:
            ends = [place for place, message in enumerate(sent, 1) if message.role in ("assistant", "tool")]
            has_calls = any(message.calls for message in sent)
            self._given = sent[: ends[-1]] if has_calls and not self.shared else ()
        length = len(self._given)
        return sent[length:] if sent[:length] == self._given else sent

    def _earlier(self, text: str, ends: Collection[int]) -> tuple[int, int]:
        """Return the number of calls in the conversations that a text continues, and the length of the first."""
        sent = (one for one in self._sent if one[0] < len(text) and (one[0] in ends or not self.shared))
        found = [one for one in sent if _digest(text[: one[0]]) == one[1]]
        return max(((calls, first) for _, _, calls, first in found), default=(0, 0))


def _text(messages: Sequence[ModelMessage]) -> str:
    return "".join(message.text for message in messages)


def _ends(messages: Sequence[ModelMessage]) -> frozenset[int]:
    """Return the total text length after each text of a conversation."""
    return frozenset(accumulate(len(text) for message in messages for text in message.texts))


def _after(messages: Sequence[ModelMessage], length: int) -> list[ModelMessage]:
    """Return the part of a conversation after this many characters of text."""
    found, place = [], 0
    for message in messages:
        text = message.text
        if place + len(text) > length:
            found.append(ModelMessage(role=message.role, content=text[max(0, length - place) :]))
        place += len(text)
    return found


def _results(text: str) -> list[str]:
    """Return the results in a text, without the label that frameworks put before them.

    Lines are separate results if each one is JSON or an error.
    """
    head, mark, rest = text.lstrip().partition(":")
    whole = rest.lstrip() if mark and head in ("Observation", "Result", "Tool result") else text.lstrip()
    lines = [line for line in whole.splitlines() if line.strip()]
    return lines if len(lines) > 1 and all(map(_is_result, lines)) else [whole]


def _is_result(line: str) -> bool:
    return line.startswith("Error:") or isinstance(lenient_json(line), dict | list)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


SLOW = "slow"
"""The policy with slow answers."""

SLOW_FIRST = 0.5
"""Seconds before the first byte of ``scripted:slow``."""

SLOW_CHUNK = 0.02
"""Seconds between the chunks of its streams."""


class PolicyModel:
    """Plays a policy. It only knows its script and the conversations that it receives.

    Args:
        name: the policy's name.
        script: the right calls, in order.
        tools: the tools of these calls. Their names and descriptions identify them in a request.
        finish: the framework's finish tool; empty to detect it or to end with a text.
    """

    def __init__(
        self,
        name: str,
        script: Sequence[ScriptedCall],
        tools: Sequence[ToolSpec] = (),
        finish: str = "",
    ) -> None:
        self._policy = POLICIES[name]
        self._script = script
        self._tools = tools
        self._finish = finish
        self._histories = TextHistories(shared=True)

    def __call__(self, request: ReceivedRequest) -> ModelTurn:
        """Return the next turn, with an estimate of its usage."""
        turn = self.turn(request.asked, self._histories)
        return replace(turn, usage=estimate_usage(request.asked, turn.answer(), request.spoken))

    def turn(
        self, request: ModelRequest, histories: TextHistories | None = None, message: UserMessage | None = None
    ) -> ModelTurn:
        """Return the next turn at this point of the conversation.

        Args:
            histories: the trial's histories, for frameworks that write calls and results as text.
            message: the user's current message, if the user writes several.

        Raises:
            QuestionRefused: the request is too complex.
        """
        try:
            with bounded_effort():
                return self._turn(request, histories, message)
        except (ArithmeticError, RecursionError, ValueError) as error:
            raise QuestionRefused(f"a scripted model cannot read the schemas of the request: {error}") from error

    def _turn(self, request: ModelRequest, histories: TextHistories | None, message: UserMessage | None) -> ModelTurn:
        form = read_form(request)
        if form is not None:
            return self._fill(form, request, message)
        # Like a real model, make no tool calls if the request allows none.
        offered = (
            () if request.tool_choice.mode == "none" else [one for one in request.tools if one.name != self._finish]
        )
        messages = request.messages if histories is None else histories.read(request.messages)
        choice = request.tool_choice
        # A named tool changes the end of a turn but not the plan.
        allowed = frozenset(choice.allowed) if choice.allowed else None
        given = PolicyInput(self._script, Tools(self._tools, offered, allowed), messages)
        own = self._play(given, request, message)
        turn = as_demanded(own, request, self._tools, self._finish, [call.name for call in self._script])
        if histories is not None and turn.calls:
            histories.note(request.messages, len(turn.calls))
        return turn

    def _play(self, given: PolicyInput, request: ModelRequest, message: UserMessage | None) -> ModelTurn:
        return self._policy(given) if message is None else play_turn(self._policy, given, request, message)

    def _fill(self, form: FieldForm | CodeForm, request: ModelRequest, message: UserMessage | None) -> ModelTurn:
        """Return the next turn of a conversation that offers and calls tools in words."""
        tools = Tools(self._tools, form.tools)
        first, turn = (
            self._play(PolicyInput(self._script, tools, messages), request, message)
            for messages in (form.messages[:1], form.messages)
        )
        return form.fill(turn, first)


class TurnTakingModel(TrialModel):
    """Answers a trial with turns, and collects the calls of a policy's script that it could not make."""

    is_strict = True

    def __init__(self) -> None:
        self._played: set[int] = set()
        self._lost: dict[int, LostCall] = {}
        self._filled: dict[tuple[int | None, str], FilledArgument] = {}

    def note(self, turn: ModelTurn) -> None:
        """Record the played, lost and filled parts of a turn."""
        self._played.update(turn.played)
        for call in turn.lost:
            self._lost.setdefault(call.position, call)
        for argument in turn.filled:
            self._filled.setdefault((argument.position, argument.argument), argument)

    def complete(self, log: WireLog) -> WireLog:
        """Add the calls that could not be played and the arguments that were made up."""
        # A request without tools may come between requests that allow all calls.
        lost = tuple(call for place, call in sorted(self._lost.items()) if place not in self._played)
        return log.model_copy(update={"lost": lost, "filled": tuple(self._filled.values())})


class ScriptedTrialModel(TurnTakingModel):
    def __init__(self, policy: str, registration: TrialRegistration) -> None:
        super().__init__()
        self._slow = policy == SLOW
        self._policy = PolicyModel(policy, registration.script, registration.tools, registration.finish_tool)
        self._registration = registration
        self._left: dict[int, Sequence[int]] = {}
        user = registration.user
        self._told = set() if user is None else {*map(str, user.knows.values()), *user.says.values()}
        # Only the calls since the user's last message count.
        self._histories: defaultdict[int, TextHistories] = defaultdict(TextHistories)

    async def answer(self, question: ModelQuestion) -> ModelReply:
        turn = self._policy.turn(question.request, self._histories[question.turn], self._message(question))
        self.note(turn)
        # Ids are the same in each framework's trial: a replay gives equal requests the same answer with its ids.
        answer = answer_of(turn, f"{self._registration.seed}#{question.place}")
        answer = replace(answer, usage=estimate_usage(question.request, answer, question.dialect))
        return ModelReply(answer, SLOW_FIRST, SLOW_CHUNK) if self._slow else ModelReply(answer)

    def _message(self, question: ModelQuestion) -> UserMessage | None:
        """Return the user's message. For a user who answers, it covers all calls that are still to be made.

        Calls after the user's next action wait for that action.
        """
        turns, number = self._registration.turns, question.turn
        if not turns:
            return None
        self._told.update((question.said, *texts_of(question.request.messages)))
        if self._registration.user is not None:
            every, due = range(len(self._registration.script)), self._registration.user_calls[question.user_calls :][:1]
            now = every[: due[0].after] if due else every
            left = self._left.setdefault(number, [place for place in now if place not in self._played])
            calls = (f"{one.api.api_name} {json.dumps(one.arguments) if one.arguments else ''}".strip() for one in due)
            request = "".join(ASK_TO_ACT.format(call=call) for call in calls)
            return UserMessage(question.said, left, turns[0].facts, self._told, request)
        first = sum(turn.calls for turn in turns[:number])
        places = range(first, first + turns[number].calls)
        return UserMessage(question.said, places, turns[number].facts, self._told)


def answer_of(turn: ModelTurn, identity: str) -> ModelAnswer:
    """Return a turn as an answer without usage, model and time.

    Args:
        identity: the text to derive the ids from. It is the same for the same request of the same trial.
    """

    def digest(part: object) -> str:
        return hashlib.sha256(f"{identity}#{part}".encode()).hexdigest()[:24]

    return turn.answer(call_id=lambda place: f"call_{digest(place)}", id=digest(""), fields={"refusal": None})


def policy(name: str, *calls: Call) -> PolicyModel:
    """Return a policy over these calls: ``policy("wrong-args", call("find", id=7))``.

    Raises:
        UsageError: there is no such policy, or the arguments of a call are not a JSON object.
    """
    if name not in POLICIES:
        raise UsageError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
    return PolicyModel(name, [_as_scripted(call) for call in calls])


def estimate_usage(request: ModelRequest, answer: ModelAnswer, spoken: Dialect) -> dict[str, int]:
    """Estimate the usage from the request's conversation and tools and from the answer."""
    return usage_counts(estimated_tokens(request.prompt), estimated_tokens(spoken.write_message(answer)))


def _as_scripted(call: Call) -> ScriptedCall:
    arguments = lenient_json(call.arguments)
    if not isinstance(arguments, dict):
        raise UsageError(f"the arguments of {call.name} are not a JSON object, which a policy needs")
    return ScriptedCall(name=call.name, arguments=arguments)
