"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from trialbed.identity import once_for
from trialbed.records import ApiCall, ApiRef, Json, ToolSpec, WireLog
from trialbed.tool_calls._calls import canonical
from trialbed.tool_calls._origins import call_sources, requested_calls
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


@once_for(8)
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
    refs = {tool.name: tool.api for tool in tools}
    requested = {one.place: one for one in requested_calls(wire, tools)}
    found: list[tuple[Place, AskedCall]] = []
    made: set[tuple[int, int]] = set()
    for got, (_, source) in zip(wire.api_calls, call_sources(wire, tools), strict=True):
        if id(got) in excluded:
            continue
        # A call that the model asked for nowhere has the time when it was made.
        place, sent = (got.started, -1), ""
        if source is not None and source.call.problem is None:
            number, place_in_turn = source.place
            turn = wire.model_calls[number]
            if place_in_turn < len(turn.tool_calls):  # the rest are those that it wrote as text
                place = turn.started + turn.duration, place_in_turn
                sent = "" if source.arguments == canonical(got.arguments) else source.call.arguments
                made.add(source.place)
        problem = got.error or ("" if got.status == 200 else f"HTTP status {got.status}")
        args = got.api.title, got.api, got.arguments, got.started, True, problem, got.response, place[0], sent
        found.append((place, AskedCall(*args)))
    for number, turn in enumerate(wire.model_calls):
        for place_in_turn, call in enumerate(turn.tool_calls if not failed(turn) else ()):
            one, api = requested.get((number, place_in_turn)), refs.get(call.tool_name)
            is_made = (number, place_in_turn) in made or (call.problem is None and (one is None or api is None))
            if not is_made and not (one is not None and one.barred):
                problem, time = call.problem or NOT_MADE, turn.started + turn.duration
                found.append(((time, place_in_turn), AskedCall(call.name, api, call.arguments, time, False, problem)))
    return tuple(call for _, call in sorted(found, key=lambda item: item[0]))
