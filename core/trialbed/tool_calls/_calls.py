"""The tool calls of a trial as sent by the model, as seen by the server, and as claimed by the agent."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from trialbed.identity import once_for
from trialbed.records import Answer, ApiCall, Json, WireLog
from trialbed.wire import lenient_json, plain_numbers

Pair = tuple[str, str]
Signed = tuple[Pair, str]
"""A call's Api and its arguments as canonical JSON."""

TOO_DEEP = "nested too deeply"


@dataclass(frozen=True)
class ClaimComparison:
    """Claimed calls against observed ones.

    Attributes:
        agreed: how many calls are both.
        invented: claimed, never seen.
        unreported: seen, never claimed.
    """

    agreed: int
    invented: tuple[Pair, ...]
    unreported: tuple[Pair, ...]

    @property
    def agreement(self) -> float:
        """The share of calls both claimed and observed among all calls (Jaccard over multisets); 1 without calls."""
        total = self.agreed + len(self.invented) + len(self.unreported)
        return self.agreed / total if total else 1.0


def claimed_calls(answer: Answer) -> list[tuple[Pair, Json]]:
    """Return the Api and the arguments of the claims that can be calls, in the order reported.

    They name an Api, with an object as arguments or without arguments. An agent that also reports calls that could not
    be made (of an unknown tool, of text that does not parse) reports truly; it does not claim to have called an Api.
    """
    return [
        (call.api.pair, call.arguments)
        for call in answer.calls
        if call.api is not None and (call.arguments is None or isinstance(parse_arguments(call.arguments), dict))
    ]


@once_for(8)
def compare_calls(answer: Answer, wire: WireLog) -> ClaimComparison:
    """Match claims to observed calls of the same Api, one to one.

    A claim with arguments needs a call with the same ones; a claim without takes any call that is left. A claim with a
    name that belongs to no Api is invented if the model did not send such a call either.
    """
    claims = claimed_calls(answer)
    turns = [call for turn in wire.model_calls for call in (*turn.tool_calls, *turn.text_calls)]
    sent = {name for call in turns for name in (call.name, call.tool_name)}
    others = (call.name for call in answer.calls if call.api is None and call.name not in sent)
    unknown = tuple(("", name) for name in others) if wire.model_calls else ()
    observed = Counter(map(signature_of, wire.api_calls))
    exact = Counter((pair, canonical(arguments)) for pair, arguments in claims if arguments is not None)
    agreed = exact & observed
    left = Counter(pair for pair, _ in (observed - agreed).elements())
    vague = Counter(pair for pair, arguments in claims if arguments is None)
    matched = vague & left
    invented = Counter(pair for pair, _ in (exact - agreed).elements()) + (vague - matched)
    return ClaimComparison(
        agreed=agreed.total() + matched.total(),
        invented=tuple(sorted([*invented.elements(), *unknown])),
        unreported=tuple(sorted((left - matched).elements())),
    )


def signature_of(call: ApiCall) -> Signed:
    """Return the Api and the arguments of a call that the virtual API saw."""
    return call.api.pair, canonical(call.arguments)


def canonical(arguments: Json) -> str:
    """Return arguments as JSON text that is equal for equal arguments; text that is JSON is read.

    Arguments that are nested too deeply to be read are their own text, or all equal if they are not text.
    """
    try:
        return json.dumps(plain_numbers(parse_arguments(arguments)), sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return arguments if isinstance(arguments, str) else TOO_DEEP


def parse_arguments(arguments: Json) -> Json:
    """Return arguments as a value; a text that is not JSON stays one."""
    return lenient_json(arguments, arguments) if isinstance(arguments, str) else arguments
