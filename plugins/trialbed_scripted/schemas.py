"""Arguments and answers for JSON schemas: valid ones, minimal ones, filled ones and wrong ones."""

from __future__ import annotations

import json
import math
import re
import string
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any

from trialbed.contracts import QuestionRefused
from trialbed.wire import dump_json
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema, part_at, schema_problems

ALPHABET = string.ascii_lowercase + string.digits + string.ascii_uppercase + " -_.@/:"
LONGEST_TEXT = 100_000
"""Longest generated text, in characters. Nested repetitions can ask for any number."""

WIDEST = 3
"""Most repetitions to try beyond the minimum."""


def matching_texts(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts that contain a match of a pattern, or nothing if the pattern is too hard.

    Args:
        least: the minimum length of the text, in characters.
    """
    from re import _parser  # type: ignore[attr-defined]

    # The schema engine supports Unicode properties. ASCII letters have the common ones.
    readable = re.sub(r"\\p\{[^{}]*\}", "[a-z]", re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(readable)
        for extra in range(WIDEST + 1):
            text = _text(parsed, extra, {})
            yield text
        yield _text(parsed, max(0, least - len(_text(parsed, 0, {}))), {})
    except (re.error, NotImplementedError, RecursionError, OverflowError):
        return


def _text(parsed: Any, extra: int, groups: dict[int, str]) -> str:
    return "".join(_part(str(kind), value, extra, groups) for kind, value in parsed)


def _part(kind: str, value: Any, extra: int, groups: dict[int, str]) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "ANY":
            return "a"
        case "IN" | "NOT_LITERAL":
            return _letter(kind, value)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            part, times = _text(inner, 0, groups), min(int(most), int(least) + extra)
            if len(part) * times > LONGEST_TEXT:
                raise NotImplementedError("a text of this length")
            return part * times
        case "SUBPATTERN":
            number, _, _, inner = value
            text = _text(inner, extra, groups)
            groups[number] = text
            return text
        case "BRANCH":
            branches = value[1]
            return _text(branches[extra % len(branches)], extra, groups)
        case "GROUPREF":
            return groups.get(value, "")
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return ""
    raise NotImplementedError(kind)


def _letter(kind: str, value: Any) -> str:
    """Return a letter of a class, preferably one it names."""
    from re import _compiler, _constants, _parser  # type: ignore[attr-defined]

    named = [part for name, part in value if str(name) in ("LITERAL", "RANGE")] if kind == "IN" else []
    letters = [chr(part if isinstance(part, int) else part[0]) for part in named]
    single = _parser.SubPattern(_parser.State(), [(getattr(_constants, kind), value)])
    matches = _compiler.compile(single, re.ASCII).fullmatch
    return next((letter for letter in (*letters, *ALPHABET) if matches(letter)), "a")


DEEPEST = 12
"""Most levels of a value. Recursive schemas end earlier."""

MOST = 40
"""Most values to try for one part of a schema."""

LONGEST = 100_000
"""Longest generated value, in characters or items."""

# Answers are made in the server's event loop. A subprocess could be killed after a timeout, but asking it takes
# longer than most answers, and rejections would depend on the machine. So the work is counted instead.
MOST_EFFORT = 50_000
"""Most work on the schemas of one request, in about ten microseconds. Most requests take less than 1 % of it."""

_REPEATED = re.compile(rb"\{(?:\d*,)?(\d{1,4})")
"""The repetitions in a pattern. Each is compiled into as many parts."""

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def bounded_effort(most: int = MOST_EFFORT) -> Iterator[None]:
    """Limit the work on schemas within the block. Exceeding it raises ``QuestionRefused``."""
    token = _left.set([most])
    try:
        yield
    finally:
        _left.reset(token)


def spend(effort: int) -> None:
    """Count some work.

    Raises:
        QuestionRefused: it exceeds the limit for an answer.
    """
    left = _left.get()
    if left is not None:
        left[0] -= effort
        if left[0] < 0:
            raise QuestionRefused("the schemas of the request are too complex for a scripted model")


def effort_of(schema: Any) -> int:
    """Return the work of reading a schema once."""
    try:
        text = dump_json(schema)
    except RecursionError:
        return MOST_EFFORT + 1
    repeated = sum(int(number) for number in _REPEATED.findall(text)) if b'"pattern' in text else 0
    return 1 + len(text) // 20 + text.count(b'"$ref"') + repeated


FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uri-reference": "/path",
    "uuid": "12345678-1234-4234-8234-123456789abc",
}
KEYWORDS_OF = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "contains"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Maps types to the keywords that imply them in a schema without a type."""

LEAST: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
"""Maps types to their least value."""

Schema = Mapping[str, Any]


def valid_json(schema: Any) -> str | None:
    """Return JSON that a schema allows, or None if no such value was found.

    Unusable schemas allow everything.
    """
    return _valid(json.dumps(schema if isinstance(schema, Mapping) else {}))


def minimal_arguments(schema: Any) -> dict[str, Any]:
    """Return the required arguments, with their default, example or first choice, else a sample of their type."""
    found = json.loads(valid_json(schema) or "{}")
    return found if isinstance(found, dict) else {}


def least_values(schema: Any) -> Iterator[Any]:
    """Yield the values that a schema suggests, the least value of its type (empty, zero, false), and other candidates.

    The caller has to validate them.
    """
    values = SchemaValues(schema if isinstance(schema, Mapping) else {})
    try:
        for flat in values.flat(schema, 0):
            yield from values.suggest(flat)
            yield from (LEAST[kind] for kind in _types(flat) if kind in LEAST)
        yield from values.of(schema, 0)
    except UnusableSchema:
        return


@lru_cache(maxsize=4096)
def _valid(text: str) -> str | None:
    schema = json.loads(text) or {"type": "object"}
    spend(effort_of(schema))
    try:
        checked = JsonSchema(schema)
    except UnusableSchema:
        return "{}"
    found = islice(SchemaValues(schema).of(schema, 0), MOST)
    return next((json.dumps(value, ensure_ascii=False) for value in found if checked.is_valid(value)), None)


class SchemaValues:
    """Makes candidates for the parts of one schema. They may be invalid."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def of(self, schema: Any, level: int) -> Iterator[Any]:
        """Yield values for a part, the most likely first."""
        if schema is False or level > DEEPEST:
            return
        for flat in islice(self.flat(schema, level), MOST):
            # Leave out keywords about its parts.
            own = {key: value for key, value in flat.items() if key in _OWN}
            effort = effort_of(own)
            spend(effort)
            checked = JsonSchema(own)
            for value in islice(self._candidates(flat, level), MOST):
                spend(1 + effort // 10)
                if checked.is_valid(value):
                    yield value

    def flat(self, schema: Any, level: int) -> Iterator[dict[str, Any]]:
        """Yield the schema without references and alternatives, once for each combination of them."""
        if not isinstance(schema, Mapping):
            yield {}
            return
        spend(1 + len(schema) // 10)
        own = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf", "then")}
        choices: list[list[Any]] = [[part] for part in list_at(schema, "allOf")]
        if isinstance(reference := schema.get("$ref"), str):
            target = part_at(self._root, reference)
            choices.append([{} if target is None else target])
        choices += [list(schema[key]) for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)]
        if "if" in schema and "then" in schema:
            choices += [[{"allOf": [schema["if"], schema["then"]]}, schema.get("else", {})]]
        if level > DEEPEST:
            return
        yield from self._merge(own, choices, level)

    def _merge(self, own: dict[str, Any], choices: list[list[Any]], level: int) -> Iterator[dict[str, Any]]:
        if not choices:
            yield own
            return
        first, *rest = choices
        for choice in first:
            if choice is not False:
                for flat in islice(self.flat(choice, level + 1), MOST):
                    yield from self._merge(_both(own, flat), rest, level)

    def suggest(self, schema: dict[str, Any]) -> Iterator[Any]:
        """Yield the constants, defaults, examples and enumerated values in a schema."""
        yield from (schema[key] for key in ("const", "default", "example") if key in schema)
        for key in ("enum", "examples"):
            yield from islice(schema.get(key) or (), MOST)

    def _candidates(self, schema: dict[str, Any], level: int) -> Iterator[Any]:
        yield from self.suggest(schema)
        for kind in _types(schema):
            yield from islice(self._of_type(kind, schema, level), MOST)

    def _of_type(self, kind: str, schema: dict[str, Any], level: int) -> Iterator[Any]:
        if kind == "object":
            yield from self._objects(schema, level)
        elif kind == "array":
            yield from self._arrays(schema, level)
        elif kind == "string":
            yield from _strings(schema)
        elif kind in ("integer", "number"):
            yield from _numbers(schema, whole=kind == "integer")
        else:
            yield from {"boolean": (True, False), "null": (None,)}.get(kind, ())

    def _objects(self, schema: dict[str, Any], level: int) -> Iterator[Any]:
        made: dict[str, Any] = {}
        wanted = list(schema.get("required") or ())
        for name in wanted:
            if name not in made:
                value = next(self.of(self._property(schema, name), level + 1), _NONE)
                if value is _NONE:
                    return
                made[name] = value
                wanted += object_at(schema, "dependentRequired").get(name, ())
        others = (name for name in self.of({"type": "string", **object_at(schema, "propertyNames")}, level + 1))
        for name in (*object_at(schema, "properties"), *others, *(f"k{number}" for number in range(MOST))):
            if len(made) < schema.get("minProperties", 0) and name not in made:
                value = next(self.of(self._property(schema, name), level + 1), _NONE)
                made |= {} if value is _NONE else {name: value}
        yield made

    def _property(self, schema: dict[str, Any], name: str) -> Any:
        properties = object_at(schema, "properties")
        return properties[name] if name in properties else schema.get("additionalProperties", {})

    def _arrays(self, schema: dict[str, Any], level: int) -> Iterator[Any]:
        first = schema.get("prefixItems") or ()
        rest = schema.get("items", {})
        size = min(schema.get("minItems", 0), LONGEST)
        if "contains" in schema:
            size, rest = max(size, schema.get("minContains", 1)), schema["contains"]
        made: list[Any] = []
        for part in [*first, *[rest] * (size - len(first))][:size]:
            values = self.of(part, level + 1)
            value = next((value for value in values if not schema.get("uniqueItems") or value not in made), _NONE)
            if value is _NONE:
                return
            made.append(value)
        yield made


_NONE = object()


_OWN = (
    "type",
    "enum",
    "const",
    *KEYWORDS_OF["number"],
    *("minLength", "maxLength", "pattern"),
    *("minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties"),
)
"""Keywords that are independent of other parts of the schema."""


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Merge two schemas, about as strict as both together. Malformed keywords do not make the result stricter."""
    merged = {**other, **one}
    shared = one.keys() & other.keys()
    for key in shared & {"properties", "patternProperties"}:
        own, more = object_at(one, key), object_at(other, key)
        merged[key] = {
            name: {"allOf": [parts[name] for parts in (own, more) if name in parts]} for name in {**more, **own}
        }
    if "required" in shared:
        merged["required"] = [*list_at(other, "required"), *list_at(one, "required")]
    if "enum" in shared:
        merged["enum"] = [value for value in list_at(one, "enum") if value in list_at(other, "enum")]
    for key in shared & _STRICTER.keys():
        if all(isinstance(schema[key], int | float) for schema in (one, other)):
            merged[key] = _STRICTER[key](one[key], other[key])
    return merged


def list_at(schema: Schema, keyword: str) -> list[Any]:
    """Return the list under a keyword; empty if there is no list, as in older drafts."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


_STRICTER = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def object_at(schema: Schema, key: str) -> dict[str, Any]:
    """Return the object under a keyword; empty if there is no object."""
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def _types(schema: Schema) -> list[str]:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return [kinds]
    if isinstance(kinds, list):
        return [kind for kind in kinds if isinstance(kind, str)]
    implied = [kind for kind, keywords in KEYWORDS_OF.items() if any(keyword in schema for keyword in keywords)]
    return [*implied, *("string", "object", "array", "number", "boolean", "null")]


def _strings(schema: dict[str, Any]) -> Iterator[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if isinstance(schema.get("pattern"), str):
        spend(len(schema["pattern"]))
        yield from islice(matching_texts(schema["pattern"], least), MOST)
    form = schema.get("format")
    if isinstance(form, str) and form in FORMATS:
        yield FORMATS[form]
    if least <= LONGEST:
        sample = "sample"
        yield (sample + "s" * max(0, least - len(sample)))[: int(min(most, LONGEST))]


def _numbers(schema: dict[str, Any], *, whole: bool) -> Iterator[float]:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    yield from (1, 0) if whole else (1.5, 1, 0)
    step = schema.get("multipleOf") or (1 if whole else 0)
    for start in (value for value in (low, above, high, below) if isinstance(value, int | float)):
        if step:
            count = start / step
            yield from (
                _whole(near * step) for near in (math.ceil(count), math.floor(count) + 1, math.floor(count) - 1)
            )
        else:
            yield from (start, start + 0.5, start - 0.5)
    if isinstance(above, int | float) and isinstance(below, int | float):
        yield (above + below) / 2
    if step:
        yield _whole(step)


def _whole(number: float) -> float:
    return int(number) if float(number).is_integer() else round(number, 12)


ANSWERS = ("answer", "finalanswer", "response", "result", "output", "reply", "text", "content", "message", "summary")
"""Plain names of fields that hold an answer."""

VISITS = 2_000
"""Most parts of a schema to visit."""

FIXED = frozenset({"enum", "const", "format"})
"""Keywords of a string that exclude free text."""


def filled_with(schema: Any, text: str) -> Any:
    """Return a value that a schema allows and that contains the text once, or None if it has no place for the text.

    The text goes to a property that takes texts. Required properties and properties with names like ``answer`` come
    first, and own properties come before nested ones. The rest of the value is minimal.
    """
    schema = schema if isinstance(schema, Mapping) else {}
    spend(effort_of(schema))
    try:
        checked = JsonSchema(schema)
    except UnusableSchema:  # it forbids nothing
        checked = JsonSchema({})
    found = islice(_Fillings(schema, text).filled(schema, 0), MOST)
    try:
        return next((value for value in found if checked.is_valid(value)), None)
    except UnusableSchema:
        return None


def filled_json(schema: Any, text: str) -> str:
    """Return JSON that a schema allows, with a text as its answer if there is a place for it.

    Args:
        schema: empty for any object.
    """
    value = filled_with(schema, text) if schema else {"answer": text}
    return (valid_json(schema) or text) if value is None else json.dumps(value, ensure_ascii=False)


class _Fillings(SchemaValues):
    """Makes candidates for the parts of one schema that contain a text. They may be invalid."""

    def __init__(self, root: Schema, text: str) -> None:
        super().__init__(root)
        self._text = text
        self._left = VISITS

    def filled(self, schema: Any, level: int) -> Iterator[Any]:
        """Yield values for a part, starting with the most likely place of the text."""
        self._left -= 1
        if level > DEEPEST or self._left < 0 or not isinstance(schema, Mapping):
            return
        for flat in islice(self.flat(schema, level), MOST):
            kinds = _kinds(flat)
            if _takes_text(flat):
                yield self._text
            if "object" in kinds and "properties" in flat:
                yield from self._filled_objects(flat, level)
            if "array" in kinds:
                yield from ([part] for part in self.filled(flat.get("items"), level + 1))

    def _filled_objects(self, schema: Schema, level: int) -> Iterator[Any]:
        properties, required = object_at(schema, "properties"), list_at(schema, "required")
        rest: dict[str, Any] = {}
        with suppress(UnusableSchema):  # a part has an unknown type
            rest = next((value for value in self.of(schema, level) if isinstance(value, dict)), {})

        def rank(name: str) -> tuple[bool, bool, int]:
            kinds = islice(self.flat(properties[name], DEEPEST - 1), MOST)
            return not any(map(_takes_text, kinds)), name not in required, _rank(name)

        for name in sorted(properties, key=rank):
            yield from ({**rest, name: part} for part in self.filled(properties[name], level + 1))


def _takes_text(schema: Schema) -> bool:
    # Some frameworks have a type "any".
    return not {"string", "any"}.isdisjoint(_kinds(schema)) and not schema.keys() & FIXED


def _kinds(schema: Schema) -> list[str]:
    """Return the types of a schema, or the type that its keywords imply. The default is a string."""
    implied = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return _types(schema) if "type" in schema else [implied]


def _rank(name: str) -> int:
    """Return a sort key that puts the names of answers first."""
    plain = "".join(filter(str.isalnum, name.casefold()))
    return ANSWERS.index(plain) if plain in ANSWERS else len(ANSWERS)


def wrong_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Change arguments to violate the schema. This drops a required one, or else gives one a wrong type.

    If a schema allows every object, the result is a list.

    Raises:
        UnusableSchema: it is not a schema.
    """
    spend(effort_of(schema))
    # Validate against the whole schema, since references in it start at its root.
    checked = JsonSchema(schema)
    return next(
        candidate
        for candidate in _candidates(arguments, schema)
        if not (isinstance(candidate, dict) and checked.is_valid(candidate))
    )


def first_problem(schema: Any, value: Any, root: Any = None) -> str:
    """Explain why and where a schema forbids a value; empty if it is valid or the schema cannot be read.

    Args:
        root: the base for references in the schema; the schema itself by default.
    """
    spend(effort_of([schema, root]))
    problem = next(iter(schema_problems(schema, value, 1, root)), None)
    return "" if problem is None else f"{problem.place or 'the arguments'}: {problem.message}"


def _candidates(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    for missing in schema.get("required", ()):
        yield {name: value for name, value in arguments.items() if name != missing}
    for name in schema.get("properties", {}):
        for wrong in ({"unexpected": True}, ["unexpected"]):
            yield {**arguments, name: wrong}
    yield []
