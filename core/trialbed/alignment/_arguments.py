"""Compares the arguments of a call with gold ones, each by the type that the schema gives it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trialbed.records import Json

LEFT_OUT: tuple[Json, ...] = (None, "")
"""Values of arguments that say no more than leaving them out."""

MISSING = object()


@dataclass(frozen=True)
class ArgumentMatch:
    """How far the arguments of a call are the gold ones.

    Attributes:
        right: names of the arguments that are as in the gold call.
        wrong: those that have another value, ``missing`` those that are not given, and ``extra`` those that the gold
            call does not have.
    """

    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    readable: bool = True

    @property
    def share(self) -> float:
        """Right ones of all that either call has; 1 where neither has any."""
        if not self.readable:
            return 0.0
        total = len(self.right) + len(self.wrong) + len(self.missing) + len(self.extra)
        return len(self.right) / total if total else 1.0

    @property
    def exact(self) -> bool:
        """Whether every argument is right, and there are no others."""
        return self.share == 1.0

    @property
    def difference(self) -> str:
        """What differs, in words; empty if nothing does."""
        if not self.readable:
            return "the arguments are not a JSON object"
        named = ("wrong", self.wrong), ("missing", self.missing), ("not in the gold call", self.extra)
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in named if names)


def compare_arguments(gold: Mapping[str, Json], given: Json, schema: Mapping[str, Any]) -> ArgumentMatch:
    """Compare argument by argument.

    Numbers are compared as numbers and texts without regard to case and white space, where the schema or else the
    gold value is of that type; lists and objects part by part. An argument that is null, empty or the schema's
    default is as good as one that is left out, unless the gold call has it.

    Args:
        given: an object, or its JSON text.
        schema: the JSON Schema of the arguments.
    """
    arguments = _object(given)
    if arguments is None:
        return ArgumentMatch(readable=False)
    properties = schema.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    kinds = {name: _kind(name, gold, arguments, _mapping(known.get(name))) for name in {**gold, **arguments}}
    right, wrong, missing, extra = (
        tuple(name for name, kind in kinds.items() if kind == wanted)
        for wanted in ("right", "wrong", "missing", "extra")
    )
    return ArgumentMatch(right, wrong, missing, extra)


def same_value(gold: Json, given: Json, schema: Mapping[str, Any]) -> bool:
    """Whether two values of an argument mean the same under its schema."""
    if isinstance(gold, list) and isinstance(given, list):
        items = _mapping(schema.get("items"))
        return len(gold) == len(given) and all(same_value(*pair, items) for pair in zip(gold, given, strict=True))
    if isinstance(gold, dict) and isinstance(given, dict):
        return compare_arguments(gold, given, schema).exact
    if isinstance(gold, (list, dict)) or isinstance(given, (list, dict)):
        return False
    return _COMPARATORS.get(_type(gold, schema), _same_text)(gold, given)


def _kind(name: str, gold: Mapping[str, Json], given: Mapping[str, Json], schema: Mapping[str, Any]) -> str:
    """The list of an ``ArgumentMatch`` in which an argument belongs; empty for one that says nothing."""
    default = schema.get("default", MISSING)
    if name not in gold:
        value = given[name]
        said = value not in LEFT_OUT and (default is MISSING or not same_value(default, value, schema))
        return "extra" if said else ""
    if name in given:
        return "right" if same_value(gold[name], given[name], schema) else "wrong"
    implied = gold[name] in LEFT_OUT or (default is not MISSING and same_value(gold[name], default, schema))
    return "right" if implied else "missing"


def _type(gold: Json, schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(gold, bool):
        return "boolean"
    return "number" if isinstance(gold, (int, float)) else "string"


def _same_number(gold: Json, given: Json) -> bool:
    one, other = _number(gold), _number(given)
    if one is None or other is None:
        return _same_text(gold, given)
    return math.isclose(one, other, rel_tol=1e-9)


def _same_text(gold: Json, given: Json) -> bool:
    return _text(gold) == _text(given)


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _text(value: Json) -> str:
    if isinstance(value, str):
        return " ".join(value.split()).casefold()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


_COMPARATORS: Mapping[str, Callable[[Json, Json], bool]] = {"number": _same_number, "integer": _same_number}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _object(value: Json) -> dict[str, Json] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
