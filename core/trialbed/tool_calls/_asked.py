"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from trialbed.identity import once_for
from trialbed.records import ApiCall, ApiRef, Json, ToolSpec, WireLog
from trialbed.tool_calls._calls import canonical
from trialbed.tool_calls._origins import call_sources, requested_calls
from trialbed.wire_log import failed

Place = tuple[float, int]
"""The time the model's answer was complete, and the place of a call in it."""

NOT_MADE = "the framework did not make the call"
FORGOTTEN = "the fact was no longer in the request"
"""The beginning of a loss's reason if a value was in an earlier turn, but in no request of this one."""

UNSEEN = "no later request shows its result"
"""The problem of an own tool's call without a result; it may have been made."""


@dataclass(frozen=True)
class AskedCall:
    """A call that the model asked for.

    Attributes:
        name: the name that the model sent, or the Api's title.
        api: the Api meant; None for a tool that was not offered.
        arguments: as the server got them, else as the model sent them; text if it cannot be parsed.
        started: seconds since the trial was opened.
        reached: whether the virtual API saw it.
        problem: why there is no result, which is the Api's error, the fault of the call, or that the framework did not
            make it. Empty if the Api accepted it.
        response: of the Api.
        asked: when the model's answer with the call was complete, in the same seconds; None without such an answer, for
            example if the agent has its own model.
        sent: the arguments that the model sent, if the server got others; empty if they are the same.
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
    """Return every call that the model asked for, with calls that never reached an Api.

    They are in the order of the model's requests for them. Many frameworks make the calls of one answer concurrently.
    These reach the Apis in any order, which says nothing about the model.

    A call that was sent and can be made accounts for one that the virtual API saw, with the same arguments or else with
    others, as frameworks convert and repair them. If no such call is left, the framework did not make it. Calls of the
    framework's own tools are skipped.

    Args:
        unasked: the calls that no answer of the model asked for, as ``unasked_calls`` gives them.
    """
    excluded = {id(call) for call in unasked}
    refs, own = {tool.name: tool.api for tool in tools}, {tool.name for tool in wire.own_tools}
    reached = {call.api for call in wire.api_calls}
    turns = [(turn.started + turn.duration, () if failed(turn) else turn.tool_calls) for turn in wire.model_calls]
    sent = {(number, at): call for number, (_, calls) in enumerate(turns) for at, call in enumerate(calls)}
    found, made = list[tuple[Place, AskedCall]](), set[tuple[int, int]]()
    for got, (_, one) in zip(wire.api_calls, call_sources(wire, tools), strict=True):
        if id(got) in excluded:
            continue
        # A call that the model asked for nowhere has the time when it was made.
        place, written = (got.started, -1), ""
        if one is not None and one.place in sent and not one.barred and one.call.problem is None:
            made.add(one.place)
            place = turns[one.place[0]][0], one.place[1]
            written = "" if one.arguments == canonical(got.arguments) else one.call.arguments
        problem = got.error or ("" if got.status == 200 else f"HTTP status {got.status}")
        args = got.api.title, got.api, got.arguments, got.started, True, problem, got.response, place[0], written
        found.append((place, AskedCall(*args)))
    requested = {one.place: one.barred for one in requested_calls(wire, tools)}
    for at, call in sent.items():
        api, barred, ended = refs.get(call.tool_name), requested.get(at, ""), turns[at[0]][0]
        # A forced call of the agent's own tool is often its output; no request shows its result.
        is_output = barred == "forced" and call.tool_name in own and api not in reached
        if at in made or (barred and not is_output) or (api is None and call.problem is None):
            continue
        problem = call.problem or (UNSEEN if call.tool_name in own else NOT_MADE)
        found.append(((ended, at[1]), AskedCall(call.name, api, call.arguments, ended, False, problem)))
    return tuple(call for _, call in sorted(found, key=itemgetter(0)))
