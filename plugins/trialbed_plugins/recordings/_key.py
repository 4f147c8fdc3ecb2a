"""The key of a recorded answer, which defines equal requests.

It excludes the framework. Equal requests of two frameworks share one answer, which keeps the model's own noise out of
comparisons. ``docs/how-to/record-and-replay.md`` has a table of the fields, and a test changes each of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

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
