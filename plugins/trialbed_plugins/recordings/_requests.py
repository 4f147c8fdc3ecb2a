"""Requests of models as recordings compare them: the key that defines equal ones, their differences, and ignored parts.

The key excludes the framework. Equal requests of two frameworks share one answer, which keeps the model's own noise out
of comparisons. ``docs/how-to/record-and-replay.md`` has a table of the fields, and a test changes each of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trialbed.wire import plain_numbers

VERSION = 1
"""The version of the canonical form. It changes if equal requests of an earlier version would have other keys."""

IGNORED = frozenset(("stream", "stream_options", "user", "metadata", "store", "prompt_cache_key", "safety_identifier"))
"""Fields about the delivery or storage of the answer or about the user. The model does not see them."""

IGNORING = " ignoring "
"""In the identity of a recorded model, separates its digest from further ignored parts of requests."""

CONVERSATIONS = ("messages", "input")
"""Fields that contain the conversation, one for each dialect."""

REFERENCES = ("tool_call_id", "tool_use_id", "call_id")
"""Fields of messages, blocks and items that refer to a call."""

IDENTIFIED = frozenset(("tool_use", "function_call", "message", "reasoning", "item_reference"))
"""Types of blocks and items with a random ``id``."""

MODEL = "model"

CUT = " characters kept]"
"""The end of a body that was too long for the log."""


def canonical(document: Mapping[str, Any], names: Collection[str] = ()) -> dict[str, Any]:
    """Return a request in the form for comparisons.

    Args:
        names: the names of the trial's model. Names of other models are kept.
    """
    kept = {name: value for name, value in document.items() if name not in IGNORED and value is not None}
    if kept.get(MODEL) in names:
        del kept[MODEL]
    for name in CONVERSATIONS:
        if isinstance(kept.get(name), list):
            kept[name] = _with_plain_ids(kept[name])
    return {name: plain_numbers(value) for name, value in kept.items()}


def canonical_text(request: Mapping[str, Any]) -> str:
    """Return a canonical request as JSON, equal for equal requests."""
    return json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def text_digest(text: str) -> str:
    """Return the digest of a part of requests, given its canonical text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def request_key(text: str, *, identity: str, seed: int, occurrence: int) -> str:
    """Return the key of an answer.

    Args:
        text: the canonical request.
        identity: the model's identity.
        seed: the trial's seed. It is the same for each framework and differs between queries and repeats.
        occurrence: the number of equal requests in the trial before.
    """
    whole = json.dumps([VERSION, identity, seed, occurrence, text], ensure_ascii=False)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _with_plain_ids(messages: list[Any]) -> list[Any]:
    """Replace ids by their order of appearance, since models and SDKs generate them randomly."""
    places: dict[str, str] = {}

    def plain(value: Any) -> Any:
        return places.setdefault(value, f"call_{len(places)}") if isinstance(value, str) else value

    return [_message(message, plain) if isinstance(message, dict) else message for message in messages]


def _message(message: Mapping[str, Any], plain: Any) -> dict[str, Any]:
    found = dict(message)
    if isinstance(calls := found.get("tool_calls"), list):
        found["tool_calls"] = [_with_plain_names(call, plain, drawn=True) for call in calls]
    if isinstance(blocks := found.get("content"), list):
        found["content"] = [_with_plain_names(block, plain) for block in blocks]
    named: dict[str, Any] = _with_plain_names(found, plain)
    return named


def _with_plain_names(found: Any, plain: Any, *, drawn: bool = False) -> Any:
    """Return a call, block or item with plain ids. With ``drawn``, its own id is replaced for any type."""
    if not isinstance(found, dict):
        return found
    kind = found.get("type")
    own = ("id",) if drawn or (isinstance(kind, str) and kind in IDENTIFIED) else ()
    return {name: plain(value) if name in (*REFERENCES, *own) else value for name, value in found.items()}


SHOWN = 80
"""Characters of a value to show, around its difference."""

INSTRUCTIONS = ("system", "instructions")
"""Fields that some dialects have instead of the first message."""

FIRST = ("tools", *INSTRUCTIONS, *CONVERSATIONS)
"""The most informative fields for differences, before all others."""

MISSING = object()


class RequestDifference(NamedTuple):
    """A place with different values in two requests.

    Attributes:
        path: such as ``tools[2].description``.
        recorded, asked: the values, shortened; ``(none)`` if missing.
    """

    path: str
    recorded: str
    asked: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.recorded} → {self.asked}"


def differences(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[RequestDifference]:
    """Yield the differences between two canonical requests, the most informative ones first."""
    for name in [*FIRST, *sorted({*recorded, *asked} - {*FIRST})]:
        yield from _differences(recorded.get(name, MISSING), asked.get(name, MISSING), name)


def nearest(asked: Mapping[str, Any], candidates: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the recorded request that is most similar to an unrecorded one, if there are candidates.

    The longest common start of the conversation counts first, then the length, then equal tools.
    """

    def likeness(candidate: Mapping[str, Any]) -> tuple[int, int, bool]:
        own, other = _messages(asked), _messages(candidate)
        common = _common(own, other)
        return common, -abs(len(own) - len(other)), asked.get("tools") == candidate.get("tools")

    return max(candidates, key=likeness, default=None)


def _common(own: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the length of the common start of two texts or lists."""
    pairs = enumerate(zip(own, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(own), len(other)))


def _messages(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request in any dialect, with its instructions. A text is one message."""
    given = [request[name] for name in INSTRUCTIONS if name in request]
    for name in CONVERSATIONS:
        found = request.get(name, [])
        given += found if isinstance(found, list) else [found]
    return given


def _differences(recorded: Any, asked: Any, path: str) -> Iterator[RequestDifference]:
    if recorded is MISSING and asked is MISSING:
        return
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in [*recorded, *(name for name in asked if name not in recorded)]:
            yield from _differences(recorded.get(name, MISSING), asked.get(name, MISSING), f"{path}.{name}")
    elif isinstance(recorded, list) and isinstance(asked, list):
        for place in range(max(len(recorded), len(asked))):
            own = [items[place] if place < len(items) else MISSING for items in (recorded, asked)]
            yield from _differences(own[0], own[1], f"{path}[{place}]")
    elif type(recorded) is not type(asked) or recorded != asked:
        yield RequestDifference(path, *_around(_show(recorded), _show(asked)))


def _show(value: Any) -> str:
    return "(none)" if value is MISSING else json.dumps(value, ensure_ascii=False)


def _around(recorded: str, asked: str) -> tuple[str, str]:
    """Cut two texts to the part with their first difference."""
    start = max(0, _common(recorded, asked) - SHOWN // 2)
    return _cut(recorded, start), _cut(asked, start)


def _cut(text: str, start: int) -> str:
    before = "…" if start else ""
    after = "…" if len(text) > start + SHOWN else ""
    return f"{before}{text[start : start + SHOWN]}{after}"


CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm]\b)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?"
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|{DAY}{MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    rf"|{DAY}\d{{1,2}} {MONTH} \d{{4}})"
)

SECONDS = r"1\d{9}(?:\.\d{1,9}|(?:\d{3}){1,3})?"

PATTERNS = {
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\b"),
    "time": re.compile(rf"\b(?:{DATE}(?:(?:T|,? (?:at )?){CLOCK})?|{CLOCK}|{SECONDS})\b"),
}
"""Maps masks to the patterns that they ignore in texts. Seconds since 1970 are times, too."""

ORDER = "order"
"""The mask that ignores the order of tools."""

WORDS = (*PATTERNS, ORDER)

STEP = re.compile(r"\.([\w-]+|\*)|\[(\d{1,9}|\*)\]|\['([^']+)'\]")
MASK = re.compile(rf"{'|'.join(WORDS)}|\$(?:{STEP.pattern})+")
"""The syntax of a mask: a word, or the JSON path of a field."""

MOST = 10
"""Most differences between two requests for which masks are suggested."""


def apply_masks(request: Mapping[str, Any], ignored: Sequence[str]) -> dict[str, Any]:
    """Return a canonical request without the ignored parts."""
    found: Any = dict(request)
    for one in ignored:
        if one in PATTERNS:
            found = _replace_texts(found, PATTERNS[one], f"({one})")
        elif one != ORDER:
            found = _drop_field(found, ["".join(step) for step in STEP.findall(one)])
        elif isinstance(found.get("tools"), list):
            found["tools"] = sorted(found["tools"], key=canonical_text)
    whole: dict[str, Any] = found
    return whole


def find_masks(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return masks that make two canonical requests equal; empty if they are equal, or if no masks suffice."""
    found, left = [*WORDS], _paths(one, other, WORDS)
    for word in WORDS:
        others = [mask for mask in found if mask != word]
        if len(_paths(one, other, others)) == len(left):  # one text may have both a time and an id
            found = others
    found += [path for path in left if MASK.fullmatch(path)]
    return tuple(found) if len(left) <= MOST and not _paths(one, other, found) else ()


def _paths(one: Mapping[str, Any], other: Mapping[str, Any], ignored: Sequence[str]) -> list[str]:
    return [f"$.{found.path}" for found in differences(apply_masks(one, ignored), apply_masks(other, ignored))]


def _replace_texts(value: Any, pattern: re.Pattern[str], text: str) -> Any:
    if isinstance(value, str):
        return pattern.sub(text, value)
    if isinstance(value, dict):
        return {name: _replace_texts(one, pattern, text) for name, one in value.items()}
    return [_replace_texts(one, pattern, text) for one in value] if isinstance(value, list) else value


def _drop_field(value: Any, steps: Sequence[str]) -> Any:
    """Return a value without the fields at a path. List items keep their positions."""
    first, *rest = steps
    if isinstance(value, dict):
        return dict(_other_items(value.items(), first, rest))
    if not isinstance(value, list):
        return value
    kept = dict(_other_items(((str(place), one) for place, one in enumerate(value)), first, rest))
    return [kept.get(str(place), "(ignored)") for place in range(len(value))]


def _other_items(items: Any, first: str, rest: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name, one in items:
        if first not in (name, "*"):
            yield name, one
        elif rest:
            yield name, _drop_field(one, rest)
