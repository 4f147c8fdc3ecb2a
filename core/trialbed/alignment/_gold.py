"""Which call stands for which gold call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbed.alignment._arguments import ArgumentMatch, compare_arguments
from trialbed.records import ApiRef, GoldCall, ToolSpec
from trialbed.results import AskedCall


@dataclass(frozen=True)
class AlignedCall:
    """A gold call, and the call that comes closest to it.

    Attributes:
        gold: the gold call.
        call: the call that stands for it and for no other; None if there is none left of its Api.
        match: how far their arguments agree; where the gold call has none, any arguments are right.
    """

    gold: GoldCall
    call: AskedCall | None = None
    match: ArgumentMatch = field(default_factory=lambda: ArgumentMatch(readable=False))

    @property
    def right(self) -> bool:
        """Whether there is a call with the right arguments."""
        return self.call is not None and self.match.exact


def align_gold_calls(
    gold: Sequence[GoldCall], calls: Sequence[AskedCall], tools: Sequence[ToolSpec]
) -> tuple[AlignedCall, ...]:
    """Find for each gold call the call of its Api that comes closest, one to one.

    The pairs that agree most are made first; of equal ones, those whose call was accepted, then those of the gold
    calls that have arguments, as the others take any call; then the earliest.

    Args:
        calls: those that the model asked for, in order.
        tools: what was offered, for the schemas of the arguments.
    """
    schemas = {tool.api: tool.parameters for tool in tools}
    pairs = [
        (place, number, _match(wanted, call, schemas))
        for place, wanted in enumerate(gold)
        for number, call in enumerate(calls)
        if call.api == wanted.api
    ]
    pairs.sort(key=lambda pair: _rank(gold[pair[0]], calls[pair[1]], pair[2]))
    aligned: dict[int, tuple[int, ArgumentMatch]] = {}
    taken: set[int] = set()
    for place, number, match in pairs:
        if place not in aligned and number not in taken:
            aligned[place] = number, match
            taken.add(number)
    return tuple(
        AlignedCall(wanted, calls[aligned[place][0]], aligned[place][1]) if place in aligned else AlignedCall(wanted)
        for place, wanted in enumerate(gold)
    )


def _match(gold: GoldCall, call: AskedCall, schemas: Mapping[ApiRef, Mapping[str, Any]]) -> ArgumentMatch:
    if gold.arguments is None:
        return ArgumentMatch()
    return compare_arguments(gold.arguments, call.arguments, schemas.get(gold.api, {}))


def _rank(gold: GoldCall, call: AskedCall, match: ArgumentMatch) -> tuple[float, bool, bool]:
    return -match.share, not call.accepted, gold.arguments is None
