"""Rules for comparing two values of an argument, and the choice of a rule by an argument's schema."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, cast

from trialbed.errors import UsageError
from trialbed.suggestions import closest, did_you_mean

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
