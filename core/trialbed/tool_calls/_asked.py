"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from trialbed.identity import once_for
from trialbed.records import ApiCall, ApiRef, Json, SentCall, ToolSpec, WireLog
from trialbed.tool_calls._calls import Signed, canonical, signature_of
from trialbed.tool_calls._origins import requested_calls, unwritten_values
from trialbed.wire_log import failed

Place = tuple[float, int]
"""The time at which the model's answer was complete, and the place of a call in it."""

NOT_MADE = "the framework did not make the call"
FORGOTTEN = "the fact was no longer in the request"
"""The beginning of the reason of a loss of a value that an earlier turn had, and no request of the turn has."""

UNSEEN = "no later request shows its result"
"""The problem of a call of one of the agent's own tools without a result; it may have been made."""


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
    seen = [call for call in wire.api_calls if id(call) not in excluded]
    refs = {tool.name: tool.api for tool in tools}
    reached = {call.api for call in wire.api_calls}
    unseen = {tool.name for tool in wire.own_tools if tool.api not in reached}
    requested = {one.place: one for one in requested_calls(wire, tools)}
    found, refused = list[tuple[Place, AskedCall]](), list[tuple[Place, AskedCall]]()
    left: list[tuple[Place, SentCall, Signed]] = []
    for number, turn in enumerate(wire.model_calls):
        for place_in_turn, call in enumerate(turn.tool_calls if not failed(turn) else ()):
            place, api = (turn.started + turn.duration, place_in_turn), refs.get(call.tool_name)
            one = requested.get((number, place_in_turn))
            # A forced call of the agent's own is often its output, whose result no request shows.
            if one is not None and one.barred and not (one.barred == "forced" and call.tool_name in unseen):
                continue
            if call.problem is not None:
                refused.append((place, AskedCall(call.name, api, call.arguments, place[0], False, call.problem)))
            elif api is not None and one is not None:
                left.append((place, call, (api.pair, one.arguments)))
    # First by the same arguments, then by others that say the same, then by the Api alone.
    origins: dict[int, tuple[Place, str]] = {}
    schemas = {tool.api.pair: tool.parameters for tool in tools}
    for rule in ("same", "written", "changed"):
        for number, got in [pair for pair in enumerate(seen) if left and pair[0] not in origins]:
            sign = signature_of(got)
            like = (item for item in left if (item[2] == sign if rule == "same" else item[2][0] == sign[0]))
            if rule == "written":
                like = (
                    one for one in like if not unwritten_values(got.arguments, one[1].arguments, schemas.get(sign[0]))
                )
            if (item := next(like, None)) is not None:
                origins[number] = item[0], "" if rule == "same" else item[1].arguments
                left.remove(item)
    for number, got in enumerate(seen):
        # A call that the model asked for nowhere has the time when it was made.
        place, sent = origins.get(number, ((got.started, -1), ""))
        problem = got.error or ("" if got.status == 200 else f"HTTP status {got.status}")
        args = got.api.title, got.api, got.arguments, got.started, True, problem, got.response, place[0], sent
        found.append((place, AskedCall(*args)))
    own = {tool.name for tool in wire.own_tools}
    unmade = [
        (
            place,
            AskedCall(
                *(call.name, refs[call.tool_name], call.arguments, place[0], False),
                UNSEEN if call.tool_name in own else NOT_MADE,
            ),
        )
        for place, call, _ in left
    ]
    return tuple(call for _, call in sorted([*found, *refused, *unmade], key=lambda item: item[0]))
