"""The history of a conversation, with the messages of earlier turns in each turn's first request."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, islice, takewhile
from typing import Any, Literal, NamedTuple

from trialbed.evidence import Passages
from trialbed.identity import once_for
from trialbed.records import Json, ModelCall, WireLog
from trialbed.texts import json_leaves, number_of, one_line
from trialbed.tool_calls import FORGOTTEN, canonical
from trialbed.wire import ModelMessage, ModelRequest, lenient_json, recorded_answer, recorded_request
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest
from trialbed.wire_log import AT_LIMIT, estimated_usage, failed

MOST_SEARCHED = 100_000_000
"""Characters that are searched for the changed messages of a trial, which takes less than a second."""

MOST_ALIGNED = 250_000
"""Pairs of messages of two requests that are compared for the order that keeps most of them."""

MOST_VALUES = 50
"""Values of a call that are looked for in a text; the first ones."""

SHOWN = 60
"""Characters of a message that are shown."""

PROMPTS = frozenset(("system", "developer"))
"""Roles of instructions."""

Prompt = Literal["kept", "lost", "repeated", "changed", "without policy"]

PROMPT_WORDS: dict[Prompt, str] = {
    "lost": "no system prompt",
    "repeated": "the system prompt is repeated",
    "changed": "another system prompt than in turn 1",
    "without policy": "the task's policy was not sent",
}


@dataclass(frozen=True)
class TurnHistory:
    """The first request of a turn, compared with the last request of the turn before and its answer.

    Attributes:
        turn: from 1.
        requests: to the model, in the turn.
        tokens: of all its prompts, as reported; estimated if they are not.
        messages: of the turns before, without system prompts; None if they could not be compared.
        dropped: how many of these the request has nowhere; ``first_dropped`` is the beginning of the first.
        results_lost: how many of these are results of tools.
        rewritten: messages with their words in another form, such as inside of another message.
        reordered: messages that stand before an earlier one.
        added: messages from neither earlier turns nor the user's new one, such as a summary.
        prompt: the system prompt, compared with turn 1; ``without policy`` if the request does not have the task's.
        asked: whether the request has the user's message.
        extra: requests of the turn outside of the conversation, as for a memory or a summary.
        at_limit: whether the turn ended at the limit of requests.
    """

    turn: int
    requests: int
    tokens: int
    messages: int | None = None
    dropped: int = 0
    first_dropped: str = ""
    results_lost: int = 0
    rewritten: int = 0
    reordered: int = 0
    added: int = 0
    first_added: str = ""
    prompt: Prompt = "kept"
    asked: bool = True
    extra: int = 0
    at_limit: bool = False

    @property
    def is_kept(self) -> bool:
        """True if everything that was said before is in the request, in its order."""
        return not (self.dropped or self.reordered or self.prompt in ("lost", "without policy")) and self.asked

    @property
    def text(self) -> str:
        """The findings in a line."""
        found = [PROMPT_WORDS[self.prompt]] if self.prompt != "kept" else []
        if self.messages is None:
            found.append("not compared" if self.requests else "no request")
        elif self.dropped:
            of = number_of(self.messages, "message")
            found.append(f"{self.dropped:,} of {of} dropped (first: {self.first_dropped})")
        elif self.messages:
            found.append(f"all {number_of(self.messages, 'message')} kept")
        if self.results_lost:
            found.append(f"{number_of(self.results_lost, 'tool result')} gone")
        found += [f"{count} {word}" for word in ("rewritten", "reordered") if (count := getattr(self, word))]
        if self.added:
            found.append(f"{self.added:,} added (first: {self.first_added})")
        if not self.asked:
            found.append("without the user's message")
        if self.extra:
            found.append(number_of(self.extra, "extra request"))
        if self.at_limit:
            found.append(AT_LIMIT)
        return f"turn {self.turn}: {'; '.join([*found, number_of(self.tokens, 'token')])}"

    def as_json(self) -> dict[str, Any]:
        """Return the findings as JSON."""
        return {**asdict(self), "kept": self.is_kept}


class _Message(NamedTuple):
    """A message without ids and spacing, which frameworks change: ``calls`` are names and arguments."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...]

    @property
    def excerpt(self) -> str:
        asked = "".join(f" asks for {name} {arguments}" for name, arguments in self.calls)
        return one_line(f"{self.role}: {self.text}{asked}", SHOWN)

    @property
    def parts(self) -> Iterator[str]:
        """Yield the words for finding the message in another one."""
        if self.text:
            yield _words(self.text)
        for name, arguments in self.calls:
            yield _words(name)
            leaves = json_leaves(lenient_json(arguments, arguments))
            yield from (_words(str(leaf)) for leaf in islice(leaves, MOST_VALUES) if not isinstance(leaf, bool | None))

    @property
    def texts(self) -> list[str]:
        return [self.text, *(arguments for _, arguments in self.calls)]


class _Request:
    """The part of a request that belongs to a conversation."""

    def __init__(self, call: ModelCall, request: ModelRequest) -> None:
        self.call = call
        self.tools = frozenset(tool.name for tool in request.tools)
        self.prompts = tuple(_words(message.text) for message in request.messages if message.role in PROMPTS)
        self.messages = [_plain(message) for message in request.messages if message.role not in PROMPTS]

    def has(self, policy: str) -> bool:
        """Return whether it has the words of a policy, in the system prompt or elsewhere."""
        words = _words(policy)
        return words in "".join(self.prompts) or any(words in _words(message.text) for message in self.messages)

    def goes_on(self, other: _Request) -> bool:
        """Return whether another request belongs to the same agent's conversation."""
        begins = self.messages[:1] == other.messages[:1]
        if self.prompts == other.prompts:
            return begins or bool(other.tools) == bool(self.tools)
        # A prompt may say what time it is.
        return begins and other.tools == self.tools and _are_alike("".join(self.prompts), "".join(other.prompts))

    def conversation(self) -> list[_Message]:
        """Return the messages, and the model's answer behind them."""
        answer = [] if failed(self.call) else [_plain(recorded_answer(self.call).answer)]
        return [message for message in (*self.messages, *answer) if message.text or message.calls]


@once_for(8)
def read_history(wire: WireLog, policy: str = "") -> tuple[TurnHistory, ...]:
    """Return what became of the history in each turn of a conversation; nothing without turns.

    Args:
        policy: the task's, which each turn should have.
    """
    turns: dict[int, list[_Request]] = defaultdict(list)
    begins = [turn.started for turn in wire.turns]
    for call, request in _conversations(wire) if begins else ():
        if request is not None:
            turns[bisect_right(begins, call.started)].append(_Request(call, request))
    offers = any(request.tools for requests in turns.values() for request in requests)
    found: list[TurnHistory] = []
    before, first, left = list[_Message](), None, MOST_SEARCHED
    texts = [_words(turn.text) for turn in wire.turns]
    for number in range(1, len(begins) + 1):
        own = wire.of_turn(number).model_calls
        usages = filter(None, map(estimated_usage, own))
        tokens, at_limit = sum(usage.prompt_tokens for usage in usages), wire.turns[number - 1].at_limit
        turn = TurnHistory(number, len(own), tokens, at_limit=at_limit)
        main = next((one for one in turns[number] if one.tools or not offers), None)
        if main is not None:
            first = first or main
            line = [one for one in turns[number] if main.goes_on(one)]
            findings, left = _compare(before, main, texts[:number], left)
            prompt = _prompt(first.prompts, main.prompts)
            if prompt != "lost" and not main.has(policy):
                prompt = "without policy"
            turn = replace(turn, **findings, prompt=prompt, extra=len(turns[number]) - len(line))
            before = line[-1].conversation()
        found.append(turn)
    return tuple(found)


def sends_policy(wire: WireLog, policy: str) -> bool:
    """Return whether any request of a trial has the words of a policy."""
    return any(_Request(call, request).has(policy) for call, request in _conversations(wire) if request is not None)


def _compare(
    before: Sequence[_Message], request: _Request, texts: Sequence[str], left: int
) -> tuple[dict[str, Any], int]:
    """Return the findings on a turn's first request, and the characters that may still be searched.

    Args:
        texts: the user's messages, the turn's last.
    """
    now = request.messages
    # A user who says something again says it at the end.
    again = now if texts[-1] in texts[:-1] else ()
    new = [place for place, one in enumerate(again) if one.role == "user" and texts[-1] in _words(one.text)][-1:]
    places = _match(before, {place: message for place, message in enumerate(now) if place not in new})
    others = sorted(set(range(len(now))).difference(places.values()))
    written = [_words("".join((now[place].text, *(f"{n}{a}" for n, a in now[place].calls)))) for place in others]
    whole, starts = "\n".join(written), [0, *accumulate(len(text) + 1 for text in written)]
    hit = {place for place, text in zip(others, written, strict=True) if texts[-1] in text}
    asked, rewritten, latest = bool(hit), 0, 0
    if texts[-1]:  # the words of the new message are not those of an earlier one
        earlier, words, rest = whole.rpartition(texts[-1])
        whole = earlier + "\0" * len(words) + rest
    used = dict[str, int]()
    for place, message in enumerate(before):
        if place in places:
            latest = max(latest, places[place])
            continue
        # The same words may occur twice: look after the previous message first.
        begin = starts[bisect_left(others, latest)]
        # A message of the user may lose a prefix of the framework's.
        own = [text for text in texts[:-1] if message.role == "user" and text and text in _words(message.text)]
        for parts in (list(message.parts), own[-1:]):
            left -= len(whole) * len(parts)
            if left < 0:
                return {}, left
            at = [_find(whole, part, begin, used.get(part, 0)) for part in parts if others]
            if at and min(at) >= 0:
                number = others[bisect_right(starts, at[0]) - 1]
                places[place], rewritten, latest = number, rewritten + 1, max(latest, number)
                hit.update(others[bisect_right(starts, one) - 1] for one in at)
                if message.text:  # each message has words of its own
                    used[parts[0]] = at[0] + len(parts[0])
                break
    order = [places[place] for place in sorted(places)]
    highest = accumulate(order, max)
    added = [now[place].excerpt for place in others if place not in hit and _is_new(now[place])]
    dropped = [message for place, message in enumerate(before) if place not in places]
    return {
        "messages": len(before),
        "dropped": len(dropped),
        "first_dropped": dropped[0].excerpt if dropped else "",
        "results_lost": sum(message.role == "tool" for message in dropped),
        "rewritten": rewritten,
        "reordered": sum(place < most for place, most in zip(order, highest, strict=True)),
        "added": len(added),
        "first_added": added[0] if added else "",
        "asked": asked,
    }, left


def _match(before: Sequence[_Message], now: Mapping[int, _Message]) -> dict[int, int]:
    """Return the places of equal messages, as many as possible of them in their order, and from the end.

    Windows drop the oldest of equal messages.
    """
    equal: dict[_Message, list[int]] = defaultdict(list)
    for place, message in now.items():
        equal[message].append(place)
    places, following, is_moved = dict[int, int](), max(now, default=0) + 1, False
    for place in reversed(range(len(before))):
        at = equal[before[place]]
        if nearest := bisect_left(at, following):
            places[place] = following = at.pop(nearest - 1)
        is_moved |= bool(at) and not nearest
    if not is_moved:
        return places
    if len(before) * len(now) <= MOST_ALIGNED:
        places = _align(before, now)
    free = {place: now[place] for place in sorted(now.keys() - set(places.values()))}
    for place in reversed(range(len(before))):
        if place not in places and (at := [one for one, message in free.items() if message == before[place]]):
            places[place] = at[-1]
            del free[at[-1]]
    return places


def _align(before: Sequence[_Message], now: Mapping[int, _Message]) -> dict[int, int]:
    """Return the places of a longest common subsequence."""
    lengths, numbers = [[0] * (len(now) + 1)], list(now)
    for message in before:
        row = [0]
        for at, other in enumerate(now.values()):
            row.append(lengths[-1][at] + 1 if message == other else max(lengths[-1][at + 1], row[-1]))
        lengths.append(row)
    places, first, second = dict[int, int](), len(before), len(now)
    while first and second:
        if before[first - 1] == now[numbers[second - 1]]:
            first, second = first - 1, second - 1
            places[first] = numbers[second]
        elif lengths[first - 1][second] >= lengths[first][second - 1]:
            first -= 1
        else:
            second -= 1
    return places


def _find(whole: str, part: str, begin: int, least: int) -> int:
    """Return the index of a part from ``begin`` on, else before it, but not before ``least``; -1 if it is not found.

    Digits of a longer number are not found.
    """
    for start, stop in ((max(begin, least), len(whole)), (least, begin + len(part))):
        at = whole.find(part, start, stop)
        while at >= 0 and _cuts_number(whole, at, at + len(part)):
            at = whole.find(part, at + 1, stop)
        if at >= 0:
            return at
    return -1


def _cuts_number(whole: str, *ends: int) -> bool:
    return any(whole[end - 1 : end].isdigit() and whole[end : end + 1].isdigit() for end in ends)


def find_forgotten(wire: WireLog, turn: int, values: Iterable[Json]) -> tuple[str, tuple[int, int]] | None:
    """Find a value that is in a request of an earlier turn, but in no request of this turn (from 1).

    Returns:
        The reason, and the numbers of the last request that has it and of the turn's first one; None if no value was
        forgotten, or a request of the turn cannot be read.
    """
    begins = [one.started for one in wire.turns]
    numbered = [
        (bisect_right(begins, call.started), number, request)
        for number, (call, request) in enumerate(_conversations(wire), 1)
    ]
    now = [(number, request) for at, number, request in numbered if at == turn and request is not None]
    if len(now) < max(1, sum(at == turn for at, _, _ in numbered)):
        return None
    # Not the tools: values of their schemas are nothing that the user said.
    shown = Passages({text for _, request in now for message in request.messages for text in _plain(message).texts})
    earlier: dict[_Message, int] = {}
    for at, number, request in reversed(numbered):
        for message in map(_plain, request.messages) if at < turn and request is not None else ():
            earlier.setdefault(message, number)
    for value in islice(values, MOST_VALUES):
        text = "" if value is None or isinstance(value, bool) else str(value)
        if text and not shown.mention(text):
            having = [message for message in earlier if Passages(message.texts).mention(text)]
            if having:
                message = next((one for one in having if one.role != "assistant"), having[0])
                where = f"in request {earlier[message]} ({message.excerpt}), and in none of turn {turn}"
                return f"{FORGOTTEN}: {text!r} is {where}", (earlier[message], now[0][0])
    return None


def find_leaked(wire: WireLog, said: set[str]) -> list[str]:
    """Return the messages in the first request that are from earlier conversations of the agent.

    Args:
        said: the messages, answers and results of tools of these conversations; those of this one are added.
    """
    request = recorded_request(wire.model_calls[0]) if wire.turns and wire.model_calls else None
    if request is None:
        return []
    texts = [" ".join(text.split()) for turn in wire.turns for text in (turn.text, turn.answer or "")]
    sent = [_plain(message) for message in request.messages if message.role not in PROMPTS]
    leaked = [one.excerpt for one in sent if one.text in said and one.text != texts[0]]
    last = recorded_request(wire.model_calls[-1])
    texts += [_plain(message).text for message in (last.messages if last else ()) if message.role == "tool"]
    # Examples that each request begins with are not from a conversation, even if the model repeats them.
    said.update(set(filter(None, texts)).difference(one.text for one in sent if one.text != texts[0]))
    return leaked


def is_only_instructed(wire: WireLog, turn: int, value: str) -> bool:
    """Return whether a turn begins with a value in the trial's first system prompt and nowhere else."""
    read = [(call.started, request) for call, request in _conversations(wire) if request is not None]
    given = {one.text for _, request in read[:1] for one in map(_plain, request.messages) if one.role in PROMPTS}
    begins, ends = wire.span_of_turn(turn)
    now = next((request for started, request in read if begins <= started < ends), None)
    shown = [one for one in map(_plain, now.messages) if one.text not in given] if now else []
    said = Passages(text for message in shown for text in message.texts)
    return Passages(given).mention(value) and not said.mention(value)


def _conversations(wire: WireLog) -> Iterator[tuple[ModelCall, ModelRequest | None]]:
    """Yield the requests with the conversation that they follow; None for an unreadable one."""
    kept = KeptResponses()
    for call in wire.model_calls:
        request = recorded_request(call)
        if isinstance(request, ResponsesRequest):
            request = ResponsesRequest(request.document)  # the log's request is shared
            kept.follow(request)
            answer = None if failed(call) else recorded_answer(call).response
            kept.keep(request, answer, call.request_bytes + call.response_bytes)
        yield call, request if request is not None and not request.problem else None


def _prompt(first: Sequence[str], now: Sequence[str]) -> Prompt:
    if any(first) and not any(now):
        return "lost"
    if len(set(now)) < len(now):
        return "repeated"
    return "kept" if tuple(now) == tuple(first) else "changed"


def _are_alike(one: str, other: str) -> bool:
    """Return whether two texts begin and end with four fifths of the longer one."""
    ends = ((one, other), (one[::-1], other[::-1]))
    same = sum(1 for both in ends for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*both, strict=False)))
    return 5 * same >= 4 * max(len(one), len(other))


def _is_new(message: _Message) -> bool:
    """Return whether a new message counts as added; results come after their calls."""
    return message.role != "tool" and bool(message.text or message.calls)


def _plain(message: ModelMessage) -> _Message:
    text = " ".join(message.text.split())
    return _Message(message.role, text, tuple((call.name, canonical(call.arguments)) for call in message.calls))


def _words(text: str) -> str:
    """Return a text without spacing, quotes and backslashes, which makes texts within texts comparable."""
    return "".join(text.replace("\\n", " ").split()).translate(_DROPPED)


_DROPPED = str.maketrans("", "", "\\\"'`")
