"""The calls that a model asked for, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from trialbed.records import ApiCall, ApiRef, Json, SentCall, ToolSpec, WireLog
from trialbed.results._calls import Pair, Signed, canonical, signed
from trialbed.results._wire import failed

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
    """

    name: str
    api: ApiRef | None
    arguments: Json
    started: float
    reached: bool
    problem: str = ""
    response: Json = None

    @property
    def accepted(self) -> bool:
        """Whether an Api gave a result for it."""
        return not self.problem

    @cached_property
    def signature(self) -> str:
        """The arguments as canonical JSON; equal for calls that ask for the same."""
        return canonical(self.arguments)


def asked_calls(wire: WireLog, tools: Sequence[ToolSpec], unasked: Collection[ApiCall] = ()) -> tuple[AskedCall, ...]:
    """Every call that the model asked for, in order of time: those that an Api got, and those that never reached one.

    A call that was sent and can be made accounts for one that the virtual API saw, with the same arguments or else
    with others, as frameworks convert and repair them. If none is left, the framework did not make it. Calls of the
    framework's own tools are left out.

    Args:
        unasked: the calls that no answer of the model asked for, as ``unasked_calls`` gives them.
    """
    excluded = {id(call) for call in unasked}
    seen = [call for call in wire.api_calls if id(call) not in excluded]
    found = [*map(_of_api, seen), *_lost(wire, tools, Counter(map(signed, seen)))]
    return tuple(sorted(found, key=lambda call: call.started))


def _of_api(call: ApiCall) -> AskedCall:
    problem = call.error or ("" if call.status == 200 else f"HTTP status {call.status}")
    return AskedCall(call.api.title, call.api, call.arguments, call.started, True, problem, call.response)


def _lost(wire: WireLog, tools: Sequence[ToolSpec], seen: Counter[Signed]) -> Iterator[AskedCall]:
    """The calls that the model sent and that no Api got."""
    refs = {tool.name: tool.api for tool in tools}
    possible: list[tuple[float, SentCall]] = []
    for turn in (turn for turn in wire.model_calls if not failed(turn)):
        ended = turn.started + turn.duration
        for call in turn.tool_calls:
            if call.problem is not None:
                yield AskedCall(call.name, refs.get(call.tool_name), call.arguments, ended, False, call.problem)
            elif call.tool_name in refs:
                possible.append((ended, call))
    for ended, call in _unmatched(possible, refs, seen):
        yield AskedCall(call.name, refs[call.tool_name], call.arguments, ended, False, NOT_MADE)


def _unmatched(
    sent: Sequence[tuple[float, SentCall]], refs: dict[str, ApiRef], seen: Counter[Signed]
) -> Iterator[tuple[float, SentCall]]:
    """The calls for which the virtual API saw none, first with the same arguments, then with any."""
    left = []
    for ended, call in sent:
        asked = refs[call.tool_name].pair, canonical(call.arguments)
        if seen[asked] > 0:
            seen[asked] -= 1
        else:
            left.append((ended, call))
    pairs: Counter[Pair] = Counter(pair for pair, _ in seen.elements())
    for ended, call in left:
        pair = refs[call.tool_name].pair
        if pairs[pair] > 0:
            pairs[pair] -= 1
        else:
            yield ended, call
