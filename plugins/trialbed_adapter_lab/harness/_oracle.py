"""The oracle checks every request of every trial.

An invariant is a function of a trial's record.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trialbed.records import Usage
from trialbed.texts import number_of
from trialbed.wire import ModelMessage, lenient_json
from trialbed_adapter_lab.differences import show, tell_texts_apart
from trialbed_adapter_lab.harness._records import ObservedCall, ObservedRequest, TrialRecord
from trialbed_scripted import ModelTurn

THOUGHTS = "<think>"
"""A text with this may lose its thoughts: some frameworks take them out, which checks of their own report."""

KEPT = 20
"""Breaches of an invariant that are kept."""

SETTINGS = ("temperature", "seed", "max_tokens")

CONVERSATION = ("messages", "input", "system", "instructions", "tools")
"""Fields of a request that are no settings."""

Breaches = Callable[[TrialRecord], Iterator[str]]
"""Yields each breach of a trial in words."""


class Invariant(NamedTuple):
    """A property of every trial with a faithful adapter. Its check takes its name and first line."""

    breaches: Breaches
    reason: str
    hint: str


INVARIANTS: dict[str, Invariant] = {}
"""Every invariant by its name, in the order of their checks."""


def _invariant(reason: str, hint: str) -> Callable[[Breaches], Breaches]:

    def add(breaches: Breaches) -> Breaches:
        INVARIANTS[breaches.__name__] = Invariant(breaches, reason, hint)
        return breaches

    return add


@_invariant(
    reason="A model follows what it is sent, and has forgotten what is no longer sent.",
    hint="Look for a memory that keeps the last messages only, or that summarises the first ones.",
)
def prompt_and_query_stay(record: TrialRecord) -> Iterator[str]:
    """Every request has the system prompt, in a message of the system, and the task, in one of the user."""
    roles = ((record.spec.system_prompt, ("system", "developer")), (record.spec.query, ("user",)))
    for where, request in _requests(record):
        for text, own in roles:
            said = request.said_by(*own)
            if text not in "\n".join(said):
                near = tell_texts_apart(text, said[0]) if len(said) == 1 else f"{show(said)}, not {show(text)}"
                yield f"{where} has no {own[0]} message with the trial's text: {near}"


@_invariant(
    reason="A tool that is no longer offered cannot be called.",
    hint="Look for steps in which the framework wants a text, such as the last one, and for a choice of tools.",
)
def tools_stay(record: TrialRecord) -> Iterator[str]:
    """Every request offers the trial's tools, each once, and as the first one does."""
    first: list[Any] | None = None
    for where, request in _requests(record):
        missing = [tool.name for tool in request.tools if request.offers.function(tool.name) is None]
        names = [tool.name for tool in request.request.tools]
        first = request.functions if first is None else first
        if missing:
            yield f"{where} does not offer {show(missing)}"
        elif len(set(names)) < len(names):
            yield f"{where} offers {show([name for name, times in Counter(names).items() if times > 1])} twice"
        elif request.functions != first:
            others = [name for name in names if name not in {str(item.get("name")) for item in first}]
            told = f"{show(others)}, which" if others else "its tools in another order or form:"
            yield f"{where} offers {told} the first one does not"


@_invariant(
    reason="A request with other settings is another experiment.",
    hint="Look for retries and later steps that make a request of their own.",
)
def settings_stay(record: TrialRecord) -> Iterator[str]:
    """Every request has the trial's model, temperature, seed and limit, as far as its dialect has them, and no more."""
    endpoint = record.spec.endpoint
    first: dict[str, Any] | None = None
    for where, request in _requests(record):
        for name in ("model", *SETTINGS):
            wanted, seen = getattr(endpoint, name), _setting(request, name)
            if wanted is not None and seen != wanted and _has(request, name):
                yield f"{where} has the {name} {show(seen)}, not {show(wanted)}"
        others = {name: value for name, value in request.body.items() if name not in CONVERSATION}
        first = others if first is None else first
        changed = sorted(name for name in first.keys() | others.keys() if first.get(name) != others.get(name))
        if changed:
            told = (f"{name} {show(others.get(name))}, not {show(first.get(name))}" for name in changed)
            yield f"{where} has other settings than the first: {'; '.join(told)}"


@_invariant(
    reason="A conversation that is rewritten or shortened is one that the model did not have.",
    hint="Look for memories, summaries and limits on the length of conversations and results.",
)
def conversation_only_grows(record: TrialRecord) -> Iterator[str]:
    """Every request begins with the messages of the one before it."""
    before: list[Any] = []
    if next(prompt_and_query_stay(record), ""):
        return
    for where, request in _requests(record):
        now = [_message(message) for message in request.request.messages]
        if now[: len(before)] != before:
            pairs = enumerate(zip(before, now, strict=False))
            place = next((place for place, (old, new) in pairs if old != new), min(len(before), len(now)))
            seen = now[place] if place < len(now) else "nothing"
            yield f"{where} has as message {place + 1} {show(seen)}, and the one before it {show(before[place])}"
        before = now


@_invariant(
    reason="A model continues from its own words, and from every result that it asked for.",
    hint="Send the model's own message back, and one tool message for each of its calls, and nothing else.",
)
def turns_are_added_as_they_were(record: TrialRecord) -> Iterator[str]:
    """A request adds the model's message, as it was said, and a result for each of its calls."""
    before: ObservedRequest | None = None
    if next(prompt_and_query_stay(record), ""):
        return
    for where, request in _requests(record):
        known = 0 if before is None else len(before.request.messages)
        if before is not None and before.said is not None and len(request.request.messages) > known:
            told = _tell_added(before.said, request.request.messages[known:])
            if told:
                yield f"{where} {told}"
        before = request


def _tell_added(turn: ModelTurn, added: Sequence[ModelMessage]) -> str:
    """Describe the fault of the messages added after a turn; empty if correct."""
    own = [message for message in added if message.role == "assistant"]
    sent = [[_plain(call.name), _value(call.arguments)] for message in own for call in message.calls]
    said, wanted = "".join(message.text for message in own), turn.text or ""
    asked = [[_plain(call.name), _value(call.arguments)] for call in turn.calls]
    ids = Counter(message.call_id for message in added if message.role == "tool")
    other = next((message for message in added if message.role not in ("assistant", "tool", "")), None)
    if other is not None:
        return f"adds {show(_message(other))}, which neither the model nor a tool said"
    # Some frameworks put calls that they cannot read behind the others.
    if sorted(map(show, sent)) != sorted(map(show, asked)):
        return f"has the model's calls as {show(sent)}, not as {show(asked)}"
    if said != wanted and THOUGHTS not in said + wanted:
        return f"has other words of the model's: {tell_texts_apart(wanted, said)}"
    made = [call.id for message in own for call in message.calls]
    if ids != Counter(made):
        return f"has results of the calls {show(sorted(ids.elements()))}, and not one of each call of the turn"
    # Some frameworks answer calls that they cannot read before or behind the others.
    readable = all(isinstance(_value(call.arguments), dict) for call in turn.calls)
    if readable and [*ids.elements()] != made and len(set(made)) == len(made):
        return f"has results in the order {show([*ids.elements()])}, and the turn its calls in the order {show(made)}"
    return ""


@_invariant(
    reason="The model works with the results of its calls.",
    hint="Look for limits on the length of results, for cleaning of texts, and for calls that are not waited for.",
)
def results_go_back_whole(record: TrialRecord) -> Iterator[str]:
    """The result of each call that was made is sent to the model in the next request, as the tool gave it."""
    for where, request in _requests(record):
        ended = [call for call in record.calls if (call.ended or request.started) < request.started]
        lost = _lost(_replies(ended), Counter(text for _, text in request.results))
        if lost:
            yield f"{where} lacks the result of a tool call: {lost}"
            return
        if swapped := _swapped(request, ended):
            yield f"{where} {swapped}"
            return


def _swapped(request: ObservedRequest, made: Sequence[ObservedCall]) -> str:
    """Describe the first result under another call's id; empty if all are correct."""
    replies, calls = dict[str, set[str]](), dict[str, str]()
    for call in made:
        replies.setdefault(_as_json(call.tool, call.arguments), set()).add(call.reply or "")
    for message in request.request.messages:
        # Ids may come again in later turns, and even in the same one.
        ids = Counter(call.id for call in message.calls)
        for asked in message.calls:
            text = _as_json(request.own_name(asked.name), _value(asked.arguments))
            calls[asked.id] = text if ids[asked.id] == 1 else ""
        own = replies.get(calls.get(message.call_id, "")) if message.role == "tool" else None
        if own and message.text not in own and any(message.text in others for others in replies.values()):
            return f"has under the id {message.call_id} the result of another call: {show(message.text)}"
    return ""


@_invariant(
    reason="Scores compare the calls that reached the tools with those that were right.",
    hint="Look for retries of tools, for cleaning of arguments, and for repair of them.",
)
def calls_are_the_models(record: TrialRecord) -> Iterator[str]:
    """Every call that reaches a tool is one that the model asked for, with its arguments, and is made once."""
    if any(request.said is None and not request.refused and request.usage is not None for request in record.requests):
        return
    turns = [(request, request.said.calls) for request in record.requests if request.said is not None]
    named = ((request.own_name(call.name), call.arguments) for request, calls in turns for call in calls)
    asked = Counter(_as_json(name, _value(arguments)) for name, arguments in named)
    made = Counter(_as_json(call.tool, call.arguments) for call in record.calls)
    more = made - asked
    again = next((call for call in more if call in asked), None)
    if again is not None:
        times = [number_of(count[again], "time") for count in (made, asked)]
        yield f"the call {show(again)} was made {times[0]}, and the model asked for it {times[1]}"
    elif turns and more:
        kept = [*(asked - made)]
        near = tell_texts_apart(kept[0], next(iter(more))) if len(kept) == 1 else f"the model asked for {show(kept)}"
        yield f"the call {show(next(iter(more)))} was made, which the model did not ask for: {near}"


@_invariant(
    reason="Judges read the final answer; words of earlier turns, or a cleaned text, may be judged differently.",
    hint="Return the content of the last message alone, unchanged.",
)
def answers_are_the_last_text(record: TrialRecord) -> Iterator[str]:
    """The answer, if it is finished, is the model's last text, to the character."""
    said = [request.said for request in record.requests if request.said is not None]
    if record.answer is None or not said or said[-1].calls:
        return
    text = said[-1].text or ""
    empty = not text.strip() and not record.answer.final_answer.strip()
    if record.answer.final_answer != text and not empty and _is_whole(text) and THOUGHTS not in text:
        yield f"the answer is not the model's last text: {tell_texts_apart(text, record.answer.final_answer)}"


@_invariant(
    reason="Other requests are not measured, and endpoints may not serve them.",
    hint="Switch look-ups of models, health checks and the like off.",
)
def nothing_else_is_asked(record: TrialRecord) -> Iterator[str]:
    """The trial sends nothing but requests to the model and calls."""
    yield from (f"{stray} was sent" for stray in record.strays if not stray.startswith("a call"))


@_invariant(
    reason="The difference between claims and the wire is a score of the framework.",
    hint="Read the calls from the framework's own messages or events, all of them.",
)
def claims_are_right_everywhere(record: TrialRecord) -> Iterator[str]:
    """The claims of an answer are the calls that reached the tools."""
    if record.answer is None or not record.makes_claims:
        return
    names = {tool.api: tool.name for tool in record.spec.tools}
    claimed = sorted(
        _as_json(names.get(claim.api, "") if claim.api else claim.name, claim.arguments)
        for claim in record.answer.calls
    )
    made = sorted(_as_json(call.tool, call.arguments) for call in record.calls)
    if claimed != made:
        yield f"{show(claimed)} are claimed, and {show(made)} were made"


@_invariant(
    reason="Results and answers are read together.",
    hint="Read responses from the framework's messages, not from its logs or events, which may shorten them.",
)
def responses_are_claimed_whole(record: TrialRecord) -> Iterator[str]:
    """The claimed responses are those that the tools returned."""
    replies = [call.reply for call in record.calls]
    if record.answer is None or not record.makes_claims or not replies or None in replies:
        return
    turns = [request.said for request in record.requests if request.said is not None]
    if any(len({call.id for call in turn.calls}) < len(turn.calls) for turn in turns):
        return  # Equal ids do not identify responses.
    lost = _lost(_replies(record.calls), Counter(str(claim.response) for claim in record.answer.calls))
    if lost:
        yield f"a response is not claimed as it came: {lost}"


@_invariant(
    reason="A wrong number of turns hides requests that the framework made on its own.",
    hint="Count the model's messages, not calls or steps.",
)
def turns_are_right_everywhere(record: TrialRecord) -> Iterator[str]:
    """The turns that a finished answer claims, if any, are the requests that the model answered."""
    taken = [request for request in record.requests if not request.refused]
    if any(request.said is None for request in taken):
        return  # Whether a request that met an error is a turn, frameworks see differently.
    made = len(taken)
    if record.answer is not None and record.answer.finish is not None and record.answer.model_turns not in (None, made):
        yield f"{number_of(record.answer.model_turns, 'turn')} claimed, {made} taken"


@_invariant(
    reason="A wrong number of tokens is worse than none.",
    hint="Count each turn once, and return None if a turn reports nothing.",
)
def usage_is_right_everywhere(record: TrialRecord) -> Iterator[str]:
    """The tokens that an answer claims, if any, are the sum of those that the model reported."""
    spent = [request.usage for request in record.requests if not request.refused]
    if record.answer is None or record.answer.usage is None or None in spent:
        return
    reported = sum(filter(None, spent), Usage())
    claimed = record.answer.usage
    for name in ("prompt_tokens", "completion_tokens"):
        if getattr(claimed, name) != getattr(reported, name):
            yield f"{getattr(claimed, name)} {name} are claimed, and {getattr(reported, name)} were reported"


def first_breaches(record: TrialRecord) -> list[tuple[str, str]]:
    """Return the invariants that a trial breaks, by name, each with its first breach."""
    return [(name, breach) for name, one in INVARIANTS.items() if (breach := next(one.breaches(record), ""))]


class Oracle:
    """Checks trials and records breaches of invariants.

    Attributes:
        about: the name of the check that runs the trials.
        saw_long_trials: whether it saw the long trials that precede the checks of invariants.
    """

    def __init__(self) -> None:
        self.about = ""
        self.saw_long_trials = False
        self._breaches: dict[str, list[str]] = {name: [] for name in INVARIANTS}

    def look(self, record: TrialRecord) -> None:
        for name, breach in first_breaches(record):
            if len(self._breaches[name]) < KEPT:
                self._breaches[name].append(f"in a trial of {self.about or 'this test'}, {breach}")

    def breaches(self, invariant: str) -> tuple[str, ...]:
        """Return the breaches of the invariant of this name so far."""
        return tuple(self._breaches[invariant])


def _requests(record: TrialRecord) -> Iterator[tuple[str, ObservedRequest]]:
    """Yield the requests that can be read, each with its place in words."""
    for request in record.requests:
        if not request.received.problem:
            yield f"request {request.number + 1} of {len(record.requests)}", request


def _setting(request: ObservedRequest, name: str) -> Any:
    return request.request.model if name == "model" else getattr(request.request.generation, name)


def _has(request: ObservedRequest, name: str) -> bool:
    """Return whether the dialect of a request has a setting; not all have seeds."""
    return name != "seed" or name in request.spoken.write_request("", (), {name: 1})


def _message(message: ModelMessage) -> list[Any]:
    calls = [[call.id, call.name, call.arguments] for call in message.calls]
    return [message.role, message.text, calls, message.call_id]


def _plain(name: str) -> str:
    """Return a name without characters that endpoints reject and frameworks must replace."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name)


def _replies(calls: Iterable[ObservedCall]) -> Counter[str]:
    return Counter(call.reply for call in calls if call.reply is not None)


def _lost(given: Counter[str], seen: Counter[str]) -> str:
    """Describe the first lost text, compared with its replacement; empty if all texts are present."""
    others = [*(seen - given)]
    # A program may write an object or a number in its own way.
    values = [value for text in others if not isinstance(value := lenient_json(text), str | None)]
    lost = next((text for text in given - seen if lenient_json(text) not in values), None)
    if lost is None:
        return ""
    if not others and seen[lost]:
        return f"{show(lost)} was given {number_of(given[lost], 'time')} and is there {number_of(seen[lost], 'time')}"
    return tell_texts_apart(lost, others[0]) if len(others) == 1 else f"{show(others)}, not {show(lost)}"


def _value(arguments: Any) -> Any:
    """Return the value of a call's arguments; the text itself if it is not JSON."""
    return lenient_json(arguments or "{}", arguments) if isinstance(arguments, str) else arguments


def _as_json(name: str, arguments: Any) -> str:
    return json.dumps([name, arguments], sort_keys=True, ensure_ascii=False)


def _is_whole(text: str) -> bool:
    """Return whether a text has no lone surrogates, which no answer can keep."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
