"""JSON Schemas of any draft, with the regular expressions of ECMA 262 and without access to the network.

Every check ends. Patterns are matched by an engine with a bound on its steps, and a schema that refers to itself in
alternatives checks each part of a value once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote, unquote

from trialbed.texts import whole_texts
from trialbed.wire._json import is_nested

STEPS = 100_000
"""Steps back that one match of a pattern may take."""

NESTED = 8
"""Up to this nesting, the problems of alternatives within alternatives are listed one by one."""

NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
"""Keywords that hold schemas by name."""

DATA = frozenset(("enum", "const", "default", "examples", "example"))
"""Keywords that hold data, which are not searched for keywords."""

BRANCHES = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "contains"))
REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))

ROOT = "trialbed-root"
"""The name of the whole schema inside a part of it."""

UNKNOWN_DIALECT = "Unknown meta-schema"
TOO_MANY_STEPS = "Max limit for backtracking count exceeded"
IN_A_URI = "/:?#[]@!$&'()*+,;=%~"

Schema = Any


class UnusableSchema(ValueError):
    """A schema that cannot be used; the message says why and, if known, names the part."""


class Undecided(Exception):
    """A bounded number of steps does not show whether a value fits."""


class SchemaProblem(NamedTuple):
    """One reason why a value does not fit.

    Attributes:
        keyword: of the schema, such as ``required``; ``falseSchema`` if a part of the schema is ``false``.
        path: to the part of the value.
    """

    keyword: str
    path: tuple[str | int, ...]
    message: str

    @property
    def place(self) -> str:
        """The path as text, such as ``stops[0].city``; empty for the value itself."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")


class JsonSchema:
    """One schema, ready to check values.

    The schema names its draft; the default is 2020-12, also for unknown drafts. Formats are not checked. References
    outside the schema are not fetched.

    Args:
        schema: any JSON value.
        root: the schema that it is a part of, which its references point into; by default the schema itself.

    Raises:
        UnusableSchema: it is not a schema, has a reference to nothing, or has a pattern that cannot be read.
    """

    def __init__(self, schema: Schema, root: Schema = None) -> None:
        self._schema = schema if root is None or root == schema else _within(schema, root)
        self._validator = _compile(self._schema)

    def is_valid(self, value: Any) -> bool:
        """Return whether a value fits; a value that takes a pattern too many steps does not."""
        try:
            return bool(self._validator.is_valid(value))
        except UnicodeEncodeError:
            return bool(self._validator.is_valid(whole_texts(value)))

    def problems(self, value: Any, most: int = 5) -> tuple[SchemaProblem, ...]:
        """Return up to ``most`` reasons why the value does not fit; empty if it fits.

        Raises:
            Undecided: a pattern takes too many steps to be matched.
        """
        if self.is_valid(value):
            return ()
        if self._branches_into_itself and is_nested(value, NESTED):
            # Each alternative has the problems of each alternative below it.
            return (SchemaProblem("anyOf", (), "the value fits none of the alternatives"),)
        try:
            return tuple(islice(self._problems(value), most))
        except UnicodeEncodeError:
            return tuple(islice(self._problems(whole_texts(value)), most))

    def _problems(self, value: Any) -> Iterator[SchemaProblem]:
        for error in self._validator.iter_errors(value):
            if TOO_MANY_STEPS in error.message:
                raise Undecided("a pattern of the schema takes too many steps to be matched")
            yield SchemaProblem(error.kind.name, tuple(error.instance_path), _message(error))

    @cached_property
    def _branches_into_itself(self) -> bool:
        keywords = {name for part in _parts(self._schema) for name in part}
        return bool(keywords & BRANCHES) and bool(keywords & REFERENCES)


def schema_problems(schema: Schema, value: Any, most: int = 5, root: Schema = None) -> tuple[SchemaProblem, ...]:
    """Return up to ``most`` reasons why a value does not fit; empty if it fits or the schema cannot be used.

    Args:
        root: the schema that this one is a part of, which its references point into.
    """
    try:
        return _schema_of(json.dumps([schema, root])).problems(value, most)
    except (UnusableSchema, RecursionError):
        return ()
    except Undecided as error:
        return (SchemaProblem("pattern", (), str(error)),)
    except ValueError as error:  # the engine takes values of 255 levels
        return (SchemaProblem("type", (), f"the value is nested too deeply ({error})"),)


@lru_cache(maxsize=128)
def _schema_of(text: str) -> JsonSchema:
    """Return the schema in a JSON text, within its root; cached, because a tool's calls use the same one repeatedly."""
    return JsonSchema(*json.loads(text))


def _message(error: Any) -> str:
    """Describe an error, with values in Python's notation, which needs no escapes in JSON."""
    kind = error.kind
    match kind.name:
        case "required":
            return f"{kind.property!r} is a required property"
        case "type" if len(kind.types) == 1:
            return f"{error.instance!r} is not of type {kind.types[0]!r}"
        case "enum":
            return f"{error.instance!r} is not one of {kind.options!r}"
    return str(error.message)


def _within(schema: Schema, root: Schema) -> Schema:
    """Return the schema with references to its root replaced by references to a part of itself."""

    def move(part: dict[str, Any]) -> dict[str, Any]:
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return part
        return {**part, "$ref": f"#/$defs/{ROOT}{reference[1:]}"}

    whole = (
        {key: value for key, value in root.items() if key not in ("$id", "$schema")} if isinstance(root, dict) else root
    )
    return {"allOf": [_map_parts(schema, move)], "$defs": {ROOT: _map_parts(whole, move)}}


def _compile(schema: Schema) -> Any:
    """Return the validator; parts that only a stricter reader refuses are repaired first."""
    try:
        found = _validator(_map_parts(_without_dialect(schema), _mend))
    except Exception as error:  # noqa: BLE001 - a schema from outside can break the compiler in any way
        raise UnusableSchema(_words(error)) from None
    if (circle := next(_circles(schema), None)) is not None:
        raise UnusableSchema(f"the reference {circle!r} leads back to itself")
    return found


def _validator(schema: Schema) -> Any:
    import jsonschema_rs

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=STEPS)
    return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=options)


def _refuse(_uri: str) -> NoReturn:
    raise ValueError("references outside the schema are not fetched")


def _words(problem: Exception) -> str:
    text = str(getattr(problem, "message", problem)).strip()
    place = "/".join(map(str, getattr(problem, "instance_path", ())))
    return f"{text} (at /{place})" if place else text


def _without_dialect(schema: Schema) -> Schema:
    """Return the schema without ``$schema`` if that names an unknown dialect."""
    try:
        _validator({"$schema": schema["$schema"]})
    except (TypeError, KeyError):
        return schema
    except Exception as error:  # noqa: BLE001 - as above
        if UNKNOWN_DIALECT in str(error):
            return {key: value for key, value in schema.items() if key != "$schema"}
    return schema


def _mend(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with its ``$id`` and references escaped as URIs, and its patterns in the engine's syntax."""
    mended = dict(part)
    for key in ("$id", "$ref"):
        if isinstance(part.get(key), str):
            mended[key] = quote(part[key], safe=IN_A_URI)
    if isinstance(part.get("pattern"), str):
        mended["pattern"] = _portable(part["pattern"])
    if isinstance(part.get("patternProperties"), dict):
        mended["patternProperties"] = {_portable(key): value for key, value in part["patternProperties"].items()}
    return mended


_CLASS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\\?(?:\]|\Z)", re.DOTALL)
_RANGE = re.compile(r"(\\[wdsWDS])-(?=[^\]])|-(?=\\[wdsWDS])")


def _portable(pattern: str) -> str:
    r"""Rewrite the classes of an ECMA 262 pattern, such as ``[\w-.]``, for the engine."""

    def write(match: re.Match[str]) -> str:
        return _RANGE.sub(lambda found: f"{found[1] or ''}\\-", match[0]) if match[0][0] == "[" else match[0]

    return _CLASS.sub(write, pattern)


def _map_parts(schema: Schema, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Schema:
    """Return the schema with each part that is an object changed; data stay unchanged."""
    if isinstance(schema, list):
        return [_map_parts(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in DATA
        else {name: _map_parts(part, change) for name, part in value.items()}
        if key in NAMED and isinstance(value, dict)
        else _map_parts(value, change)
        for key, value in change(schema).items()
    }


def _parts(schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield each part of a schema that is an object; data do not count."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict):
            yield part
            for key, value in part.items():
                if key in NAMED and isinstance(value, dict):
                    left += value.values()
                elif key not in DATA:
                    left.append(value)


def _circles(schema: Schema) -> Iterator[str]:
    """Yield references that lead directly back to themselves and would make a check endless."""
    ending: set[str] = set()
    for part in _parts(schema):
        seen: set[str] = set()
        while isinstance(part, dict) and isinstance(reference := part.get("$ref"), str) and reference[:1] == "#":
            if reference in seen:
                yield reference
                break
            if reference in ending:
                break
            seen.add(reference)
            part = part_at(schema, reference)
        ending |= seen


def part_at(schema: Schema, reference: str) -> Schema:
    """Return the part of a schema that a reference (``#`` and a JSON Pointer) points to; None if it does not exist."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and name.isdecimal() and int(name) < len(schema):
            schema = schema[int(name)]
        else:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema
