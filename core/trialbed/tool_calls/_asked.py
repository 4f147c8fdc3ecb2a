"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from trialbed.records import ApiCall, ApiRef, Json, SentCall, ToolSpec, WireLog
from trialbed.tool_calls._calls import Signed, canonical, signature_of
from trialbed.tool_calls._origins import requested_calls
from trialbed.wire_log import failed

Place = tuple[float, int]
"""The time at which the model's answer was complete, and the place of a call in it."""

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
        problem: why there is no result: the Api's error, the fault of the call, or that the framework did not
            make it. Empty if the Api accepted it.
        response: of the Api.
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
        """True if an Api gave a result for it."""
        return not self.problem

    @cached_property
    def signature(self) -> str:
        """The arguments as canonical JSON; equal for calls that ask for the same."""
        return canonical(self.arguments)


def asked_calls(wire: WireLog, tools: Sequence[ToolSpec], unasked: Collection[ApiCall] = ()) -> tuple[AskedCall, ...]:
    """Return every call that the model asked for: those that an Api got, and those that never reached one.

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
    signs = [signature_of(call) for call in seen]
    refs = {tool.name: tool.api for tool in tools}
    requests = _requests(wire, tools)
    possible = [
        _Possible(place, call, (refs[call.tool_name].pair, canonical(call.arguments)))
        for place, call in requests
        if call.problem is None and call.tool_name in refs
    ]
    origins, unmade = _origins(signs, possible)
    found = [_of_api(call, origins.get(number)) for number, call in enumerate(seen)]
    found += [
        (place, AskedCall(call.name, refs.get(call.tool_name), call.arguments, place[0], False, call.problem))
        for place, call in requests
        if call.problem is not None
    ]
    found += [
        (place, AskedCall(call.name, refs[call.tool_name], call.arguments, place[0], False, NOT_MADE))
        for place, call, _ in unmade
    ]
    return tuple(call for _, call in sorted(found, key=lambda item: item[0]))


class _Possible(NamedTuple):
    """A call that the model sent and that can be made."""

    place: Place
    call: SentCall
    sign: Signed


def _requests(wire: WireLog, tools: Sequence[ToolSpec]) -> list[tuple[Place, SentCall]]:
    """Return every call that the model sent and on which it decided itself, with its place."""
    barred = {one.place for one in requested_calls(wire, tools) if one.barred}
    return [
        ((turn.started + turn.duration, number), call)
        for place, turn in enumerate(wire.model_calls)
        if not failed(turn)
        for number, call in enumerate(turn.tool_calls)
        if (place, number) not in barred
    ]


def _origins(
    signs: Sequence[Signed], possible: Sequence[_Possible]
) -> tuple[dict[int, tuple[Place, str]], list[_Possible]]:
    """Match the calls that Apis got to those that the model sent, first by the same arguments, then by the Api alone.

    Args:
        signs: of the calls that an Api got.

    Returns:
        Place of such a call -> where the model asked for it, and the arguments that it sent if these are others; and
        the calls that no Api got.
    """
    left = list(possible)
    found: dict[int, tuple[Place, str]] = {}
    for exactly in (True, False):
        for number, sign in enumerate(signs):
            if number not in found:
                same = (item for item in left if item.sign == sign or (not exactly and item.sign[0] == sign[0]))
                item = next(same, None)
                if item is not None:
                    found[number] = item.place, "" if exactly else item.call.arguments
                    left.remove(item)
    return found, left


def _of_api(call: ApiCall, origin: tuple[Place, str] | None) -> tuple[Place, AskedCall]:
    """Return a call that an Api got; one that the model asked for nowhere has the time when it was made."""
    place, sent = origin or ((call.started, -1), "")
    problem = call.error or ("" if call.status == 200 else f"HTTP status {call.status}")
    args = call.api.title, call.api, call.arguments, call.started, True, problem, call.response, place[0], sent
    return place, AskedCall(*args)
