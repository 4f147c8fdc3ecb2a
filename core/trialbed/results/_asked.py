"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trialbed.records import ApiCall, ApiRef, Json, SentCall, ToolSpec, WireLog
from trialbed.results._calls import Pair, Signed, canonical, signed
from trialbed.results._wire import failed

Place = tuple[float, int]
"""When the model's answer was complete, and the place of a call in it."""

NOT_MADE = "the framework did not make the call"


@dataclass(frozen=True)
class AskedCall:
    """A call that the model asked for.

    Attributes:
        name: as the model sent it, or the Api's title.
        api: the Api meant; None for a tool that was not offered.
        arguments: as the server got them, else as the model sent them; text where it does not parse.
        started: seconds since the trial was opened.
        reached: whether the virtual API saw it.
        problem: why there is no result: the Api's error, what is wrong with the call, or that the framework did not
            make it. Empty if the Api accepted it.
        response: what the Api gave back.
        asked: when the model's answer that asks for it was complete, in the same seconds; None where there is none, as
            for an agent with a model of its own.
        sent: the arguments as the model sent them, where the server got others; empty where they are the same.
    """

    name: str
    api: ApiRef | None
    arguments: Json
    started: float
    reached: bool
    problem: str = ""
    response: Json = None
    asked: float | None = None
    sent: str = ""

    @property
    def accepted(self) -> bool:
        """Whether an Api gave a result for it."""
        return not self.problem

    @cached_property
    def signature(self) -> str:
        """The arguments as canonical JSON; equal for calls that ask for the same."""
        return canonical(self.arguments)


def asked_calls(wire: WireLog, tools: Sequence[ToolSpec], unasked: Collection[ApiCall] = ()) -> tuple[AskedCall, ...]:
    """Every call that the model asked for: those that an Api got, and those that never reached one.

    They are in the order in which the model asked for them. Calls of one answer of the model are made at the same time
    by many frameworks, and then reach the Apis in any order, which says nothing of the model.

    A call that was sent and can be made accounts for one that the virtual API saw, with the same arguments or else
    with others, as frameworks convert and repair them. If none is left, the framework did not make it. Calls of the
    framework's own tools are left out.

    Args:
        unasked: the calls that no answer of the model asked for, as ``unasked_calls`` gives them.
    """
    excluded = {id(call) for call in unasked}
    seen = [call for call in wire.api_calls if id(call) not in excluded]
    origins = _origins(seen, _requests(wire), {tool.name: tool.api for tool in tools})
    found = [(place, _of_api(call, place[0], sent)) for (place, sent), call in zip(origins, seen, strict=True)]
    found += _lost(wire, tools, Counter(map(signed, seen)))
    return tuple(call for _, call in sorted(found, key=lambda item: item[0]))


def _requests(wire: WireLog) -> list[tuple[Place, SentCall]]:
    """Every call that the model sent, with its place."""
    turns = (turn for turn in wire.model_calls if not failed(turn))
    return [
        ((turn.started + turn.duration, number), call) for turn in turns for number, call in enumerate(turn.tool_calls)
    ]


def _origins(
    seen: Sequence[ApiCall], requests: Sequence[tuple[Place, SentCall]], refs: Mapping[str, ApiRef]
) -> list[tuple[Place, str]]:
    """Where the model asked for each call, and the arguments that it sent if these are others.

    A call that it asked for nowhere has the time when it was made.
    """
    left = [
        (place, (refs[call.tool_name].pair, canonical(call.arguments)), call.arguments)
        for place, call in requests
        if call.problem is None and call.tool_name in refs
    ]
    found: dict[int, tuple[Place, str]] = {}
    for exactly in (True, False):
        for number, call in enumerate(seen):
            sign = signed(call)
            same = (item for item in left if item[1] == sign or (not exactly and item[1][0] == sign[0]))
            if number not in found and (item := next(same, None)):
                found[number] = item[0], "" if exactly else item[2]
                left.remove(item)
    return [found.get(number, ((call.started, -1), "")) for number, call in enumerate(seen)]


def _of_api(call: ApiCall, asked: float, sent: str) -> AskedCall:
    problem = call.error or ("" if call.status == 200 else f"HTTP status {call.status}")
    return AskedCall(call.api.title, call.api, call.arguments, call.started, True, problem, call.response, asked, sent)


def _lost(wire: WireLog, tools: Sequence[ToolSpec], seen: Counter[Signed]) -> Iterator[tuple[Place, AskedCall]]:
    """The calls that the model sent and that no Api got."""
    refs = {tool.name: tool.api for tool in tools}
    possible: list[tuple[Place, SentCall]] = []
    for place, call in _requests(wire):
        if call.problem is not None:
            lost = AskedCall(call.name, refs.get(call.tool_name), call.arguments, place[0], False, call.problem)
            yield place, lost
        elif call.tool_name in refs:
            possible.append((place, call))
    for place, call in _unmatched(possible, refs, seen):
        yield place, AskedCall(call.name, refs[call.tool_name], call.arguments, place[0], False, NOT_MADE)


def _unmatched(
    sent: Sequence[tuple[Place, SentCall]], refs: dict[str, ApiRef], seen: Counter[Signed]
) -> Iterator[tuple[Place, SentCall]]:
    """The calls for which the virtual API saw none, first with the same arguments, then with any."""
    left = []
    for place, call in sent:
        asked = refs[call.tool_name].pair, canonical(call.arguments)
        if seen[asked] > 0:
            seen[asked] -= 1
        else:
            left.append((place, call))
    pairs: Counter[Pair] = Counter(pair for pair, _ in seen.elements())
    for place, call in left:
        pair = refs[call.tool_name].pair
        if pairs[pair] > 0:
            pairs[pair] -= 1
        else:
            yield place, call
