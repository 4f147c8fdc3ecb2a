"""Compares two values of an argument by a rule."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, cast

from trialbed.texts import normalize
from trialbed.tool_calls._matchers import matcher_of
from trialbed.tool_calls._rules import (
    NO_SCHEMA,
    Schema,
    choose_rule,
    is_number,
    item_schema,
    matches_whole,
    parse_rule,
    property_schema,
    variant,
)

CLOSE = 1e-9
"""The largest relative difference of equal numbers, unless both are whole, because these may be identifiers."""

MOST_UNORDERED = 200
"""Values in any order that are paired; a longer list is not met."""

DATE_WORDS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%Y/%m/%d", "%Y.%m.%d")
"""Dates that are not ISO 8601 and can be read in one way only."""

Compared = tuple[float, str]
"""Points from 0 to 1, and the rule for comparing two values."""


@dataclass(frozen=True, slots=True)
class ValueComparer:
    """Compares values of the arguments of tools.

    Attributes:
        rules: ``tool.argument`` or ``argument`` -> rule, before what schemas ask for; ``argument`` may be a path, such
            as ``filter.city``.
    """

    rules: Mapping[str, str] = field(default_factory=dict)

    def rule(self, tool: str, path: str, schema: Schema, wanted: Any) -> str:
        """Return the rule for an argument."""
        return self.own_rule(tool, path) or choose_rule(variant(schema, wanted), wanted)

    def own_rule(self, tool: str, path: str) -> str:
        """Return the rule that was given for an argument; empty if none was."""
        return self.rules.get(f"{tool}.{path}", self.rules.get(path, "")) if self.rules else ""

    def compare(self, tool: str, path: str, given: Any, wanted: Any, schema: Schema = NO_SCHEMA) -> Compared:
        """Compare the value given with the one wanted.

        Raises:
            UsageError: the rule cannot be applied.
        """
        if kind := matcher_of(wanted):
            return self._match(kind, tool, path, given, wanted, schema), kind.removeprefix("$")
        schema = variant(schema, wanted)
        rule = self.rule(tool, path, schema, wanted)
        name, parameter = parse_rule(rule)
        parts = {"object": self._objects, "set": self._sets, "list": self._lists}
        if name in parts:
            kinds: tuple[type, ...] = (Mapping,) if name == "object" else (list, tuple)
            if not isinstance(given, kinds) or not isinstance(wanted, kinds) or not (given or wanted):
                return float(same_value(given, wanted)), rule
            return parts[name](tool, path, given, wanted, schema), rule
        return float(_PLAIN[name](given, wanted, parameter)), rule

    def _match(self, kind: str, tool: str, path: str, given: Any, wanted: Any, schema: Schema) -> float:
        inner = wanted[kind]
        if kind == "$any":
            return float("accepted" not in wanted or any(same_value(given, one) for one in wanted["accepted"]))
        if kind == "$about":
            number = _number(given)
            return float(number is not None and abs(number - inner) <= wanted["within"] * (1 + CLOSE))
        if kind == "$matches":
            return float(matches(given, inner, None))
        if kind == "$one_of":
            return float(any(self.compare(tool, path, given, one, schema)[0] == 1 for one in inner))
        if kind == "$unordered":
            return self._pair_values(tool, path, given, inner, schema) if isinstance(given, list | tuple) else 0.0
        return self.compare(tool, path, given, inner, schema)[0]

    def _pair_values(self, tool: str, path: str, given: Any, wanted: Any, schema: Schema) -> float:
        """Return the share of values that can be paired with an equal one."""
        from scipy.optimize import linear_sum_assignment  # few tasks have lists in any order

        compare = partial(self.compare, tool, f"{path}[]", schema=item_schema(schema))
        fits = [[float(compare(one, value)[0] == 1) for one in given] for value in wanted[:MOST_UNORDERED]]
        both = sum(fits[row][at] for row, at in zip(*linear_sum_assignment(fits, maximize=True), strict=True))
        return float(both / max(len(given), len(wanted)))

    def _objects(self, tool: str, path: str, given: Any, wanted: Any, schema: Schema) -> float:
        points = [
            self.compare(tool, f"{path}.{key}", given[key], wanted[key], property_schema(schema, key))[0]
            for key in wanted
            if key in given
        ]
        due = {key for key in wanted if matcher_of(wanted[key]) != "$optional"}
        return sum(points) / (len({*due, *given}) or 1) if points or due or given else 1.0

    def _lists(self, tool: str, path: str, given: Any, wanted: Any, schema: Schema) -> float:
        pairs = zip(given, wanted, strict=False)
        points = (self.compare(tool, f"{path}[]", one, other, item_schema(schema))[0] for one, other in pairs)
        return sum(points) / max(len(given), len(wanted))

    def _sets(self, tool: str, path: str, given: Any, wanted: Any, schema: Schema) -> float:
        left = list(given)
        for value in wanted:
            for place, one in enumerate(left):
                if self.compare(tool, f"{path}[]", one, value, item_schema(schema))[0] == 1:
                    del left[place]
                    break
        both = len(given) - len(left)
        return both / (len(given) + len(wanted) - both)


def same_value(given: Any, wanted: Any) -> bool:
    """Return whether two values of JSON are the same. Numbers are compared by value; true and false are not numbers."""
    if isinstance(given, bool) or isinstance(wanted, bool):
        return given is wanted
    if is_number(given) and is_number(wanted):
        return bool(given == wanted) or (given != given and wanted != wanted)
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        return given.keys() == wanted.keys() and all(same_value(given[key], wanted[key]) for key in wanted)
    if isinstance(given, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(given) == len(wanted) and all(map(same_value, given, wanted))
    return type(given) is type(wanted) and bool(given == wanted)


def same_number(given: Any, wanted: Any, tolerance: str | None) -> bool:
    """Return whether two values are equal numbers."""
    one, other = _number(given), _number(wanted)
    if one is None or other is None:
        return same_value(given, wanted)
    try:
        are_whole = all(isinstance(number, int) or number.is_integer() for number in (one, other))
        usual = 0.0 if are_whole else CLOSE
        within = usual if tolerance is None else float(tolerance)
        # Without a tolerance, and not as floats, because large integers would be the same.
        same = one == other or (within > 0 and math.isclose(one, other, rel_tol=within))
    except OverflowError:
        same = False
    return same or same_value(given, wanted)


def same_text(given: Any, wanted: Any, _: str | None) -> bool:
    """Return whether two texts are the same but for case, white space and Unicode's forms."""
    if isinstance(given, str) and isinstance(wanted, str):
        return given == wanted or _fold(given) == _fold(wanted)
    if isinstance(given, str) != isinstance(wanted, str) and is_number(wanted if isinstance(given, str) else given):
        return _fold(_text(given)) == _fold(_text(wanted))
    return same_value(given, wanted)


def same_date(given: Any, wanted: Any, _: str | None) -> bool:
    """Return whether two values are the same date or time; other values are compared as text."""
    one, other = _moment(given), _moment(wanted)
    if one is None or other is None:
        return same_text(given, wanted, None)
    if isinstance(one, time) or isinstance(other, time):
        return one == other
    try:
        return _instant(one) == _instant(other)
    except OverflowError:  # The first or last day there is, in another zone.
        return one == other


def matches(given: Any, wanted: Any, pattern: str | None) -> bool:
    """Return whether the whole of a value's text matches the pattern, or the reference as a pattern."""
    return matches_whole(_text(wanted) if pattern is None else pattern, _text(given))


def as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


_PLAIN: Mapping[str, Callable[[Any, Any, str | None], bool]] = {
    "exact": lambda given, wanted, _: same_value(given, wanted),
    "number": same_number,
    "text": same_text,
    "date": same_date,
    "regex": matches,
    "ignore": lambda *_: True,
}


def _number(value: Any) -> int | float | None:
    if is_number(value):
        return cast("float", value)
    for form in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            number = form(value)
            return number if math.isfinite(number) else None
    return None


def _fold(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _moment(value: Any) -> datetime | date | time | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    for read in (date.fromisoformat, datetime.fromisoformat, time.fromisoformat):
        with suppress(ValueError):
            return read(text)
    for form in DATE_WORDS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a date has no zone
    return None


def _instant(value: datetime | date) -> datetime:
    """Return the moment in UTC; a date is its midnight, and a time without a zone is in UTC."""
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
