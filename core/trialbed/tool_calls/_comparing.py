"""Compares two values of an argument by a rule; expected values may be matchers, which accept more than one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import lru_cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from trialbed.errors import UsageError
from trialbed.suggestions import closest, did_you_mean
from trialbed.texts import normalize

if TYPE_CHECKING:
    from trialbed.records import Json

SECONDS = 0.5
"""For one match. Some patterns take a time that is exponential in the length of the text."""


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return the pattern, ready to match.

    Raises:
        ValueError: it is not a regular expression.
    """
    # Python's own expressions have no time limit. This is imported late, because few rules are patterns.
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the whole text matches the pattern.

    Raises:
        UsageError: the pattern is not a regular expression, or takes too long.
    """
    try:
        return compile_pattern(pattern).fullmatch(text, timeout=SECONDS) is not None
    except ValueError as error:
        raise UsageError(f"{pattern!r:.200} is not a regular expression: {error}") from None
    except TimeoutError:
        raise UsageError(
            f"the regular expression {pattern!r:.200} was stopped after {SECONDS:g} s on {text!r:.80}; simplify it"
        ) from None


RULES = {
    "exact": "the same JSON value; 1 and 1.0 are the same, 1 and true are not, the order of keys does not matter",
    "number": "equal numbers: whole ones exactly, others within a relative 1e-9, or `number:TOLERANCE`; as text too",
    "text": "the same text, apart from case, white space and the Unicode form",
    "date": "the same date or time, however it is written: a time without a zone is taken as UTC, a date next to a "
    "time as its midnight in UTC; as `text` if either is not a date",
    "list": "element by element, in order; points for the share that is right",
    "set": "elements in any order; points for the share that both have",
    "object": "key by key; points for the share that is right",
    "regex": "the whole text matches the reference, or the PATTERN of `regex:PATTERN`",
    "ignore": "any value, or none at all",
}
"""Every rule, and when values are right by it."""

PARAMETRIC = ("number", "regex")
"""Rules that take a parameter."""

EXACT_FORMATS = frozenset(
    {"uuid", "uri", "url", "uri-reference", "iri", "email", "idn-email", "hostname", "ipv4", "ipv6", "json-pointer"}
    | {"regex", "byte", "binary", "password"}
)
DATE_FORMATS = frozenset({"date", "date-time", "time"})
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")

Schema = Mapping[str, Any]
NO_SCHEMA: Schema = {}


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> tuple[str, str | None]:
    """Return the name and the parameter of a rule as users write it: ``text``, ``number:0.01``, ``regex:[A-Z]{3}``.

    Raises:
        UsageError: the rule does not exist, or its parameter is wrong.
    """
    name, colon, parameter = text.partition(":")
    if name not in RULES:
        hint = did_you_mean(closest(name, RULES))
        raise UsageError(f"there is no rule {name!r} for arguments{hint} The rules are {', '.join(RULES)}")
    if not colon:
        return name, None
    if name not in PARAMETRIC:
        raise UsageError(f"the rule {name!r} takes no parameter: {text!r}")
    try:
        if name == "regex":
            compile_pattern(parameter)
        elif not 0 <= float(parameter) < math.inf:
            raise ValueError("a tolerance is a number from 0 on")
    except ValueError as error:
        raise UsageError(f"the rule {text!r} has a wrong parameter: {error}") from None
    return name, parameter


def choose_rule(schema: Schema, wanted: Any) -> str:
    """Return the rule for an argument's schema, or for the reference's value if the schema says nothing."""
    if "const" in schema or "enum" in schema or "pattern" in schema:
        return "exact"
    form = schema.get("type")
    if isinstance(form, (list, tuple)):
        form = next((name for name in form if _is(wanted, name)), None)
    if form == "string" or isinstance(wanted, str):
        written = schema.get("format")
        if written in EXACT_FORMATS:
            return "exact"
        if written in DATE_FORMATS or (isinstance(wanted, str) and ISO_DATE.fullmatch(wanted.strip())):
            return "date"
        # A number may be due, and the reference has it as text.
        return "number" if schema.get("type") in ("number", "integer") else "text"
    if form in ("number", "integer"):
        return "number"
    if form == "array" or isinstance(wanted, (list, tuple)):
        return "set" if schema.get("uniqueItems") is True else "list"
    if form == "object" or isinstance(wanted, Mapping):
        return "object"
    return "number" if is_number(wanted) and not isinstance(form, str) else "exact"


def is_number(value: Any) -> bool:
    """Return whether a value is a number of JSON."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def variant(schema: Schema, value: Any) -> Schema:
    """Return the alternative in a schema for values of this type, or the schema itself if it has no alternatives."""
    choices = schema.get("anyOf", schema.get("oneOf"))
    for one in choices if isinstance(choices, (list, tuple)) else ():
        form = one.get("type") if isinstance(one, Mapping) else None
        if any(_is(value, name) for name in (form if isinstance(form, (list, tuple)) else [form])):
            return cast("Schema", one)
    return schema


def property_schema(schema: Schema, name: str) -> Schema:
    """Return the schema of a property; empty if it is not described."""
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    return found if isinstance(found, Mapping) else NO_SCHEMA


def item_schema(schema: Schema) -> Schema:
    """Return the schema of an array's elements; empty if it is not described."""
    found = schema.get("items")
    return found if isinstance(found, Mapping) else NO_SCHEMA


TYPES = {"string": str, "integer": int, "number": int | float, "array": list | tuple, "object": dict, "null": NoneType}


def _is(value: Any, form: object) -> bool:
    if isinstance(value, bool):
        return form == "boolean"
    return isinstance(form, str) and form in TYPES and bool(isinstance(value, TYPES[form]))


MATCHERS: Mapping[str, tuple[str, ...]] = {
    "$any": ("example", "check", "accepted"),
    "$about": ("within",),
    "$one_of": (),
    "$matches": ("example",),
    "$unordered": (),
    "$optional": (),
}
"""Key of a matcher -> its other keys."""


class Accepted(list["Json"]):
    """The values that a function in expected arguments accepts."""


DROPPED = object()
"""Stands for an argument that has no example."""


def about(value: float, within: float) -> dict[str, Json]:
    """Expect a number that differs from this one by no more than ``within``: ``call("pay", amount=about(12.5, 0.1))``.

    Like all matchers, it can stand anywhere in the arguments of ``call``, and in files as JSON: ``{$about: 12.5,
    within: 0.1}``.
    """
    return {"$about": value, "within": within}


def any_value(example: Json = None) -> dict[str, Json]:
    """Expect the argument, with any value; Python's ``any`` means the same. In files ``{$any: }``.

    Args:
        example: the value that scripted models send; None for any value that the tool's schema allows.
    """
    return {"$any": None, "example": example}


def one_of(*values: Json) -> dict[str, Json]:
    """Expect any of several values; scripted models send the first. In files ``{$one_of: [a, b]}``."""
    return {"$one_of": list(values)}


def regex(pattern: str, example: str) -> dict[str, Json]:
    """Expect a text that matches a regular expression as a whole; in files ``{$matches: PATTERN, example: TEXT}``.

    Args:
        example: a text that matches, which scripted models send.
    """
    return {"$matches": pattern, "example": example}


def unordered(values: list[Json]) -> dict[str, Json]:
    """Expect these values in any order; in files ``{$unordered: [a, b]}``."""
    return {"$unordered": list(values)}


def optional(value: Json) -> dict[str, Json]:
    """Expect this value if the key is there, which need not be; in files ``{$optional: value}``."""
    return {"$optional": value}


def matcher_of(wanted: Any) -> str:
    """Return the key of a matcher; empty if a value is not one."""
    if not isinstance(wanted, Mapping):
        return ""
    return next((key for key, others in MATCHERS.items() if key in wanted and not wanted.keys() - {key, *others}), "")


def matcher_problem(wanted: Json, schema: str = "") -> str:
    """Return the fault of a matcher; empty if it is right, or if the value is not one.

    Args:
        schema: JSON of the tool's; its properties are not misspelled matchers.
    """
    kind = matcher_of(wanted)
    for key in wanted if not kind else ():
        # Some operators of MongoDB are like them.
        is_like = key.startswith("$") and key not in ("$and", "$match", "$options")
        close = closest(key, MATCHERS) if is_like else None
        if close and f'"{key}": ' not in schema:
            right = ", ".join((close, *MATCHERS[close]))
            return f"{', '.join(wanted)}: these are not the keys of a matcher{did_you_mean(right)}"
    inner = wanted.get(kind)
    if kind == "$about":
        numbers = inner, wanted.get("within")
        if not all(is_number(one) and math.isfinite(one) for one in numbers) or wanted["within"] < 0:
            return "$about takes a number, and the largest difference from it as 'within'"
    if kind in ("$one_of", "$unordered") and not (isinstance(inner, list) and inner):
        return f"{kind} takes a list of values"
    if kind == "$matches":
        example = wanted.get("example")
        if not isinstance(inner, str) or not isinstance(example, str) or not matches_whole(inner, example):
            return "$matches takes a pattern, and as 'example' a text that matches it as a whole"
    return ""


def example_of(wanted: Json) -> Json:
    """Return a value that meets an expected one; ``DROPPED`` for a matcher without an example."""
    kind = matcher_of(wanted)
    if kind in ("$any", "$matches"):
        return DROPPED if wanted.get("example") is None else wanted["example"]
    if kind == "$one_of":
        return example_of(wanted[kind][0])
    if kind:
        return example_of(wanted[kind])
    if isinstance(wanted, Mapping):
        found = {name: example_of(value) for name, value in wanted.items()}
        return {name: value for name, value in found.items() if value is not DROPPED}
    if isinstance(wanted, list | tuple):
        return [value for value in map(example_of, wanted) if value is not DROPPED]
    return wanted


def examples_of(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the expected arguments of a call with values that meet them; arguments without an example are excluded."""
    found = {name: example_of(value) for name, value in arguments.items()}
    return {name: value for name, value in found.items() if value is not DROPPED}


def named_checks(wanted: Json) -> Iterator[str]:
    """Yield the names of the functions that check values in expected arguments."""
    if isinstance(wanted, Mapping):
        if matcher_of(wanted) == "$any" and "check" in wanted:
            yield wanted["check"]
        wanted = list(wanted.values())
    for value in wanted if isinstance(wanted, list | tuple) else ():
        yield from named_checks(value)


def with_accepted(wanted: Json, accepted: Mapping[str, list[Json]]) -> Json:
    """Return an expected value with the values that its functions accept.

    Args:
        accepted: name of a function -> the values.
    """
    if isinstance(wanted, Mapping):
        if matcher_of(wanted) == "$any" and wanted.get("check") in accepted:
            return {**wanted, "accepted": accepted[wanted["check"]]}
        return {name: with_accepted(value, accepted) for name, value in wanted.items()}
    return [with_accepted(value, accepted) for value in wanted] if isinstance(wanted, list | tuple) else wanted


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
