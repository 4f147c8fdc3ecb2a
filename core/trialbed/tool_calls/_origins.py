"""The calls of a trial as claimed, and the origins of those that Apis got, by the evidence on the wire."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from trialbed.identity import once_for
from trialbed.records import Answer, ApiCall, Json, SentCall, ToolSpec, WireLog
from trialbed.texts import json_leaves
from trialbed.wire import ModelRequest, lenient_json, plain_numbers, recorded_request
from trialbed.wire_log import failed

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


Origin = Literal["model", "own tool", "forced", "dictated", "changed", "none"]
"""Why an Api was called.

``model``: an answer of the model asks for it. ``own tool``: the framework's own tool made it, and the model names the
Api in that tool's arguments, as in code. ``forced``: the request left the model no other call. ``dictated``: the
request already had the whole call, and no earlier answer of the model. ``changed``: it has arguments that the model did
not write. ``none``: no answer of the model asks for it.
"""

ASKED: frozenset[Origin] = frozenset({"model", "own tool"})
"""The origins of calls that count as the model's."""

MOST_PLACES = 1000
"""The most places in a text that are checked for a dictated call."""

NEARBY = 200
"""Characters between a tool's name and its arguments in a text that dictates a call."""

WORD = re.compile(r"[A-Za-z0-9_-]+")

SHORTEST_NAME = 4
"""Characters of an Api's name that the code of a model can be known by."""


@dataclass(frozen=True)
class RequestedCall:
    """A call that an answer of the model asks for.

    Attributes:
        place: of the model request in the log, and of the call in its answer.
        time: when the answer began, in seconds.
        pair: the Api; None for a tool of the framework's own.
        arguments: as canonical JSON, which is equal for calls that ask for the same.
        barred: why it is not the model's decision; empty if it is.
    """

    place: tuple[int, int]
    time: float
    call: SentCall
    pair: Pair | None
    arguments: str
    barred: Literal["", "forced", "dictated"] = ""


CallSource = tuple[Origin, RequestedCall | None]
"""The origin of a call that an Api got, and the model's call that accounts for it, if any."""


@once_for(8)
def call_sources(wire: WireLog, tools: Sequence[ToolSpec]) -> tuple[CallSource, ...]:
    """Return the source of each call that an Api got, in order.

    Each call that the model sent accounts for one call of its Api, with the same arguments or else with equivalent
    ones, because frameworks convert arguments, fill in defaults and repair them. A call that the model wrote as text
    counts if the request offered no tools, because the framework describes them in its prompt.
    """
    requested = requested_calls(wire, tools)
    # The model's own decisions first, because they take precedence over forced calls.
    left = [one for one in requested if one.pair is not None]
    left.sort(
        key=lambda one: (bool(one.barred), one.call.problem is not None or failed(wire.model_calls[one.place[0]]))
    )
    sources: dict[int, CallSource] = {}
    schemas = {tool.api.pair: tool.parameters for tool in tools}
    own = [one for one in requested if one.pair is None and not one.barred]
    by_pair = {tool.api.pair: tool.name for tool in tools}
    for rule in ("same", "written", "changed"):
        for number, call in enumerate(wire.api_calls):
            pair, arguments = signature_of(call)
            for one in left if number not in sources else ():
                if one.pair != pair or one.time > call.started:
                    continue
                if rule == "same" and one.arguments != arguments:
                    continue
                if rule == "written" and unwritten_values(call.arguments, one.call.arguments, schemas.get(pair)):
                    continue
                left.remove(one)
                # A call that the Api refused gained nothing by the change: it shows the framework's doing.
                is_changed = rule == "changed" and call.status == 200 and not call.error
                sources[number] = one.barred or ("changed" if is_changed else "model"), one
                break
    for number, call in enumerate(wire.api_calls):
        if number not in sources:
            # A tool of the framework's own may have been called before with arguments that name the Api or its tool.
            tool = by_pair.get(call.api.pair, "")
            names = [text for text in map(plain_text, (tool, call.api.api_name)) if len(text) >= SHORTEST_NAME]
            texts = [one.call.arguments for one in own if one.time <= call.started]
            named = any(tool in WORD.findall(text) or any(name in plain_text(text) for name in names) for text in texts)
            sources[number] = "own tool" if named else "none", None
    return tuple(sources[number] for number in range(len(wire.api_calls)))


def unasked_calls(wire: WireLog, tools: Sequence[ToolSpec], *, forced: bool = False) -> tuple[ApiCall, ...]:
    """Return the calls of Apis that the model did not decide on, in order; see ``call_sources``.

    Args:
        forced: whether calls that a request forced count as the model's.
    """
    asked = ASKED | {"forced"} if forced else ASKED
    sources = call_sources(wire, tools)
    return tuple(call for call, (origin, _) in zip(wire.api_calls, sources, strict=True) if origin not in asked)


def find_forced_calls(wire: WireLog, tools: Sequence[ToolSpec], calls: Sequence[ApiCall]) -> list[ApiCall]:
    """Return the calls that a request forced with its ``tool_choice``."""
    chosen = {id(call) for call in calls}
    sources = zip(wire.api_calls, call_sources(wire, tools) if chosen else (), strict=False)
    return [call for call, (origin, _) in sources if origin == "forced" and id(call) in chosen]


@once_for(8)
def requested_calls(wire: WireLog, tools: Sequence[ToolSpec]) -> tuple[RequestedCall, ...]:
    """Return every call that the model asked for, and whether it had a choice."""
    pairs = {tool.name: tool.api.pair for tool in tools}
    found: list[RequestedCall] = []
    said: set[tuple[str, str]] = set()
    decided: dict[str, set[str]] = {}
    for number, turn in enumerate(wire.model_calls):
        if not (turn.tool_calls or turn.text_calls):
            continue
        request = recorded_request(turn)
        text = None
        # The calls that can be made; a request that the log has cut counts as if it offered tools.
        has_no_tools = request is not None and not request.document.get("tools")
        for place, call in enumerate((*turn.tool_calls, *turn.text_calls) if has_no_tools else turn.tool_calls):
            pair = pairs.get(call.tool_name)
            if pair is None and call.problem == "unknown tool":
                continue
            arguments = canonical(call.arguments)
            written = _compact([call.arguments])
            # A call that the model had cut short: a request may repeat it, and close its brackets.
            sign, begun = (call.tool_name, arguments), (call.tool_name, written.rstrip("]}"))
            barred: Literal["", "forced", "dictated"] = ""
            if request is not None and is_forced(request, len(tools)):
                barred = "forced"
            elif request is not None and pair is not None and said.isdisjoint((sign, begun)):
                if text is None:  # the content of the request except its tools, because their schemas may have examples
                    offer = ("tools", "functions", "tool_choice")
                    content = {name: value for name, value in request.document.items() if name not in offer}
                    text = _compact(_strings(content))
                others = decided.get(arguments, ())
                forms = () if arguments in ("{}", "null", '""') else {written, _compact([arguments])}
                if _is_dictated(call, forms, text, tools, others) and not _is_of_api(call, forms, wire, turn.started):
                    barred = "dictated"
            said.update((sign, begun))
            if not barred:
                decided.setdefault(arguments, set()).add(call.tool_name)
            time = turn.started + (turn.first_token or 0.0)
            found.append(RequestedCall((number, place), time, call, pair, arguments, barred))
    return tuple(found)


def is_forced(request: ModelRequest, tools: int) -> bool:
    """Return whether a request leaves the model only one call, by name or by offering only one of several tools.

    Args:
        tools: how many the trial has.
    """
    choice = request.tool_choice
    return bool(choice.name) or (choice.mode in ("required", "any") and len(request.tools) == 1 and tools > 1)


def _is_of_api(call: SentCall, forms: Collection[str], wire: WireLog, time: float) -> bool:
    """Return whether an earlier response of an Api contains the call, for example as a link."""
    names = {_compact([call.name]), _compact([call.tool_name])}
    for made in wire.api_calls:
        if made.started + made.duration <= time:
            whole = _compact([made.response if isinstance(made.response, str) else json.dumps(made.response)])
            if any(part in whole for part in forms) and any(name in whole for name in names):
                return True
    return False


def _is_dictated(
    call: SentCall, forms: Collection[str], text: str, tools: Sequence[ToolSpec], others: Collection[str]
) -> bool:
    """Return whether a request already contains the call, with its arguments next to its name.

    Args:
        forms: the arguments in the forms of ``_compact``; empty for a call without arguments.
        others: tools that the model has called with the same arguments, by its own decision. If their names are next to
            the arguments, the request repeats the model's words.
    """
    for arguments in forms:
        place = -1
        for _ in range(MOST_PLACES):
            place = text.find(arguments, place + 1)
            if place < 0:
                break
            around = text[max(0, place - NEARBY) : place + len(arguments) + NEARBY]
            named = _compact([call.name]) in around or _compact([call.tool_name]) in around
            if named and not any(_compact([other]) in around for other in others):
                return arguments not in _compact(f"{tool.description} {json.dumps(tool.parameters)}" for tool in tools)
    return False


def _compact(texts: Iterable[str]) -> str:
    """Return texts without space, quotes and backslashes, which makes JSON within JSON read like JSON."""
    return "".join("\n".join(texts).split()).translate(_DROPPED)


_DROPPED = str.maketrans("", "", "\\\"'`")


def _strings(value: Json) -> Iterator[str]:
    """Yield the texts of a document in order, including names of fields."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            for name, part in reversed(one.items()):
                left += part, name
        elif isinstance(one, list):
            left.extend(reversed(one))
        elif one is not None:
            yield json.dumps(one)


NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})

MOST = 1000
"""Values of the arguments of one call that are looked at, and numbers that the model wrote; the first ones."""


def unwritten_values(arguments: Json, written: str, schema: Json = None) -> list[str]:
    """Return the values in the arguments of a call that the model did not write in its own, and that no schema gives.

    Spelling does not count: case, separators, quotes, and texts for numbers and truth values. Nor do empty values, and
    the defaults and sole choices of the tool's schema.

    Args:
        arguments: as the Api got them.
        written: as the model wrote them.
    """
    parsed = parse_arguments(written)
    text = written if isinstance(parsed, str) else f"{written} {json.dumps(parsed, ensure_ascii=False)}"
    # As JSON, because there 1 equals 1.0 and differs from true.
    plain, given = plain_text(text), {json.dumps(plain_numbers(value)) for value in _schema_values(schema)}
    numbers: set[float] | None = None
    found = []
    for value in islice(json_leaves(parse_arguments(arguments)), MOST):
        if value in (None, "") or json.dumps(plain_numbers(value)) in given:
            continue
        if isinstance(value, bool):
            known = any(word in plain for word in TRUTHS)
        elif isinstance(value, int | float):
            numbers = _numbers(text) if numbers is None else numbers
            known = value in numbers
        else:
            known = plain_text(value) in plain
        if not known:
            found.append(str(value))
    return found


def plain_text(text: str) -> str:
    """Return a text's letters and digits alone, without case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _numbers(text: str) -> set[float]:
    """Return the numbers in a text, and each without its fraction."""
    found: set[float] = set()
    for match in islice(NUMBER.finditer(text), MOST):
        value = float(match[0])
        found |= {value, abs(value)}
        if abs(value) < 1e15:
            found |= {int(value), round(value)}
    return found


def _schema_values(schema: Any) -> Iterator[Any]:
    """Yield the values in a schema, such as defaults, constants and sole choices, at any depth."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            for name in ("default", "const"):
                if name in one:
                    yield from json_leaves(one[name])
            choices = one.get("enum")
            if isinstance(choices, list) and len(choices) == 1:
                yield choices[0]
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
