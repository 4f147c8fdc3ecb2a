"""The tools of a request, and a policy's calls of them with arguments that fit the offered schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from trialbed.records import FilledArgument, LossReason, LostCall, ScriptedCall, ToolSpec
from trialbed.texts import group_by_key
from trialbed.wire import Call, OfferedTool
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema, part_at
from trialbed.wire.offers import Offers, plain_name
from trialbed_scripted.policies._ending import is_finish
from trialbed_scripted.schemas import (
    MOST,
    effort_of,
    first_problem,
    least_values,
    list_at,
    minimal_arguments,
    object_at,
    spend,
    wrong_arguments,
)

MAX_DEPTH = 60
"""Most nested references and alternatives to follow."""

MAX_MESSAGE = 300
"""Longest reason, in characters."""


class Inexpressible(Exception):
    """The offered schema cannot express the arguments; the message says why."""


@dataclass(frozen=True)
class Fitted:
    """Arguments that fit the offered schema.

    Attributes:
        filled: maps paths to values that the schema requires and the script lacks, except nulls.
    """

    arguments: Any
    filled: Mapping[str, Any] = field(default_factory=dict)


def fit(arguments: Any, own: Any, offered: Any) -> Fitted:
    """Fit the arguments to the offered schema.

    Properties get the offered names. Missing properties that the offered schema requires are null if possible, else
    their default or a made-up value.

    Args:
        own: the tool's own schema.

    Raises:
        Inexpressible: the offered schema does not allow them, although the tool's own does.
    """
    if own == offered:
        return Fitted(arguments)
    schemas, filled = _Schemas(own, offered), dict[str, Any]()
    value = schemas.fit(arguments, offered, own, "", filled, MAX_DEPTH)
    problem = schemas.problem(value, offered)
    if problem and not first_problem(own, arguments):
        raise Inexpressible(problem)
    return Fitted(value, filled)


class _Schemas:
    def __init__(self, own: Any, offered: Any) -> None:
        self._own, self._offered = own, offered

    def problem(self, value: Any, schema: Any) -> str:
        """Explain why a part of the offered schema forbids a value; empty if it is valid."""
        return first_problem(schema, value, self._offered)[:MAX_MESSAGE]

    def fit(self, value: Any, offered: Any, own: Any, path: str, filled: dict[str, Any], depth: int) -> Any:
        spend(1)
        if depth == 0 or not isinstance(value, dict | list):
            return value
        offered, own = _resolve(offered, self._offered), _resolve(own, self._own)
        if not isinstance(offered, Mapping):
            return value
        for part in list_at(offered, "allOf"):
            value = self.fit(value, part, own, path, filled, depth - 1)
        for choice in ("anyOf", "oneOf"):
            if choices := list_at(offered, choice):
                value = self._best(value, choices, own, path, filled, depth - 1)
        if isinstance(value, list):
            return self._items(value, offered, own, path, filled, depth)
        return self._object(value, offered, own, path, filled, depth)

    def _best(self, value: Any, choices: Any, own: Any, path: str, filled: dict[str, Any], depth: int) -> Any:
        """Fit the value to the choice with the fewest made-up values."""
        found: list[tuple[Any, dict[str, Any]]] = []
        reason = ""
        for choice in choices:
            more: dict[str, Any] = {}
            try:
                fitted = self.fit(value, choice, own, path, more, depth)
            except Inexpressible as error:
                reason = reason or str(error)
                continue
            problem = self.problem(fitted, choice)
            if not problem:
                found.append((fitted, more))
            reason = reason or problem
        if not found:
            raise Inexpressible(reason or f"{path or 'the arguments'}: no choice of the offered schema fits")
        best, more = min(found, key=lambda item: len(item[1]))
        filled.update(more)
        return best

    def _items(
        self, value: list[Any], offered: Mapping[str, Any], own: Any, path: str, filled: dict[str, Any], depth: int
    ) -> list[Any]:
        prefix, rest = offered.get("prefixItems") or [], offered.get("items", {})
        schemas = [prefix[place] if place < len(prefix) else rest for place in range(len(value))]
        return [
            self.fit(item, schema, _item(own, place, self._own), f"{path}[{place}]", filled, depth - 1)
            for place, (item, schema) in enumerate(zip(value, schemas, strict=True))
        ]

    def _object(
        self, value: dict[str, Any], offered: Mapping[str, Any], own: Any, path: str, filled: dict[str, Any], depth: int
    ) -> dict[str, Any]:
        if not _has_properties(offered):
            return value
        properties = object_at(offered, "properties")
        names = _names({*value, *_properties(own, self._own)}, properties)
        result: dict[str, Any] = {}
        for key, item in value.items():
            name = names.get(key, key)
            where = f"{path}.{key}".lstrip(".")
            schema = properties[name] if name in properties else _extra(offered, name, where)
            result[name] = self.fit(item, schema, _property(own, key, self._own), where, filled, depth - 1)
        for name in _required_names(offered):
            if name not in result:
                self._fill(result, name, offered, (own, names), path, filled)
        return result

    def _fill(
        self,
        result: dict[str, Any],
        name: str,
        offered: Mapping[str, Any],
        own: tuple[Any, Mapping[str, str]],
        path: str,
        filled: dict[str, Any],
    ) -> None:
        """Add a property that only the offered schema requires. It stays missing if the tool's own requires it, too."""
        key = next((key for key, other in own[1].items() if other == name), name)
        where = f"{path}.{key}".lstrip(".")
        if _requires(own[0], key, self._own):
            return
        schema = object_at(offered, "properties").get(name, {})
        if not self.problem(None, schema):
            result[name] = None
            return
        own_parts = _parts(_property(own[0], key, self._own), self._own)
        for part in (*own_parts, *_parts(schema, self._offered)):
            for value in islice(least_values(part), MOST):
                if not self.problem(value, schema):
                    result[name] = filled[where] = value
                    return
        raise Inexpressible(f"{where}: the offered schema requires it, and it is not known which values it takes")


def _resolve(schema: Any, root: Any) -> Any:
    """Follow references within the root. A dangling reference resolves to an empty schema."""
    for _ in range(MAX_DEPTH):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str):
            return schema
        target = part_at(root, reference)
        if target is None:
            target = {}
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) else target
    return {}


def _parts(schema: Any, root: Any, depth: int = MAX_DEPTH) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and the schemas that it combines."""
    schema = _resolve(schema, root)
    spend(1)
    if not isinstance(schema, Mapping) or depth == 0:
        return
    yield schema
    for name in ("allOf", "anyOf", "oneOf"):
        for part in list_at(schema, name):
            yield from _parts(part, root, depth // 2)


def _properties(schema: Any, root: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in _parts(schema, root):
        found = {**object_at(part, "properties"), **found}
    return found


def _property(schema: Any, name: str, root: Any) -> Any:
    properties = _properties(schema, root)
    if name in properties:
        return properties[name]
    extra = (part.get("additionalProperties") for part in _parts(schema, root))
    return next((schema for schema in extra if isinstance(schema, Mapping)), {})


def _requires(schema: Any, name: str, root: Any) -> bool:
    return any(name in _required_names(part) for part in _parts(schema, root))


def _item(schema: Any, place: int, root: Any) -> Any:
    for part in _parts(schema, root):
        prefix = part.get("prefixItems") or []
        if place < len(prefix):
            return prefix[place]
        if "items" in part:
            return part["items"]
    return {}


def _has_properties(schema: Mapping[str, Any]) -> bool:
    return any(key in schema for key in ("properties", "required", "additionalProperties", "patternProperties"))


def _required_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of required properties. Invalid entries are ignored."""
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _extra(schema: Mapping[str, Any], name: str, where: str) -> Any:
    """Return the schema for a property without its own entry."""
    for pattern, found in object_at(schema, "patternProperties").items():
        if _matches(pattern, name):
            return found
    extra = schema.get("additionalProperties", True)
    if extra is False:
        raise Inexpressible(f"{where}: the offered schema has no such property, and allows no others")
    return extra


def _matches(pattern: str, name: str) -> bool:
    """Return whether a framework's pattern matches a name, with bounded effort."""
    spend(effort_of({"pattern": pattern}))
    try:
        return JsonSchema({"pattern": pattern}).is_valid(name)
    except UnusableSchema:
        return False


def _names(own: set[str], offered: Mapping[str, Any]) -> dict[str, str]:
    """Map own property names to offered ones if the match is unique."""
    same = {name: name for name in own if name in offered}
    own_left, offered_left = own - same.keys(), [name for name in offered if name not in own]
    by_plain = _unique(own_left, plain_name)
    return same | {
        by_plain[plain]: name for plain, name in _unique(offered_left, plain_name).items() if plain in by_plain
    }


def _unique(names: Any, plain: Callable[[str], str]) -> dict[str, str]:
    """Map plain names to names, for plain names that only one name has."""
    found = group_by_key((plain(name), name) for name in names)
    return {key: alike[0] for key, alike in found.items() if key and len(alike) == 1}


UNKNOWN = "tool_that_is_not_offered"

SHOWN = 5
"""Most names that a reason lists."""


class Lost(Exception):
    """A call cannot be made."""

    def __init__(self, record: LostCall) -> None:
        super().__init__(record)
        self.record = record


@dataclass(frozen=True)
class PlannedCall:
    """A call in the form that the model sends.

    Attributes:
        position: its position in the script; None for other calls.
        filled: the arguments that had to be made up.
    """

    call: Call
    position: int | None = None
    filled: tuple[FilledArgument, ...] = ()

    def cut(self) -> PlannedCall:
        """Return this call without the last character of its arguments."""
        return replace(self, call=replace(self.call, arguments=self.call.arguments[:-1]))


class Tools:
    """A trial's tools in the form that a request offers them.

    Args:
        tools: the tools of the trial.
        functions: the offered functions; empty if the request does not allow calls.
        allowed: the names of the functions that may be called; None for all.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], functions: Iterable[OfferedTool], allowed: Collection[str] | None = None
    ) -> None:
        self._allowed = allowed
        self._offers = Offers(tools, functions)
        self._own = {tool.name: tool.parameters for tool in tools}
        foreign = self._offers.functions.keys() - self._own.keys()
        spend(len(foreign) * len(tools) // 20)

    def right(self, position: int, call: ScriptedCall) -> PlannedCall:
        """Make a call of the script. Missing arguments of an agent's own tool get example values.

        Raises:
            Lost: it cannot be made.
        """
        offered, arguments = self._find(position, call.name), call.arguments
        # Only the request contains the schema of an agent's own tool.
        if call.name not in self._own and first_problem(offered.parameters, arguments):
            arguments = {**minimal_arguments(offered.parameters), **arguments}
        return self._plan(position, call.name, arguments, offered)

    def wrong(self, position: int, call: ScriptedCall) -> PlannedCall:
        """Make a call of the script with arguments that violate the tool's own schema, which the API checks.

        Raises:
            Lost: the right call cannot be made.
        """
        offered = self._find(position, call.name)
        right = self._plan(position, call.name, call.arguments, offered)
        wrong = wrong_arguments(call.arguments, self._schema(call.name, offered))
        try:
            return self._plan(position, call.name, wrong, offered)
        except Lost:
            return replace(right, call=Call(offered.name, _text(wrong)))

    def other(self, names: Iterable[str]) -> PlannedCall | None:
        """Return a call to the first tool of the trial outside these names that can be called, if there is one."""
        excluded = set(names)
        own = [(name, self._offers.function(name)) for name in self._own if name not in excluded]
        taken = {function.name for name in excluded if (function := self._offers.function(name)) is not None}
        # Calling a finish tool would end the trial.
        foreign = [
            (name, offered)
            for name, offered in self._offers.functions.items()
            if name not in taken and not is_finish(name)
        ]
        for name, offered in own if any(function for _, function in own) else foreign:
            if offered is not None and self._allows(offered):
                try:
                    return self._plan(None, name, minimal_arguments(self._schema(name, offered)), offered)
                except Lost:
                    continue
        return None

    def unknown(self) -> PlannedCall:
        """Return a call to a tool that is not offered.

        Raises:
            Lost: calls are not allowed.
        """
        if not self._offers.functions:
            raise Lost(LostCall(position=0, tool=UNKNOWN, reason="no tools"))
        name = UNKNOWN
        while name in self._offers.functions:
            name += "_"
        return PlannedCall(Call(name, "{}"))

    def _allows(self, offered: OfferedTool) -> bool:
        return self._allowed is None or offered.name in self._allowed

    def _schema(self, tool: str, offered: OfferedTool) -> Any:
        return self._own.get(tool, offered.parameters)

    def _find(self, position: int, tool: str) -> OfferedTool:
        offered = self._offers.function(tool)
        if offered is not None and self._allows(offered):
            return offered
        reason: LossReason = "not offered"
        count = len(self._offers.functions)
        detail = f"the request offers {count} function{'s' * (count != 1)}, and none stands for it"
        if not self._offers.functions:
            reason, detail = "no tools", "the request offers no tools"
        elif offered is not None:
            detail = f"the request does not allow {offered.name} to be called"
        elif several := self._offers.might_be(tool):
            reason, detail = "ambiguous", f"any of these might stand for it: {', '.join(several[:SHOWN])}"
        raise Lost(LostCall(position=position, tool=tool, reason=reason, detail=detail))

    def _plan(self, position: int | None, tool: str, arguments: Any, offered: OfferedTool) -> PlannedCall:
        try:
            fitted = fit(arguments, self._schema(tool, offered), offered.parameters)
        except Inexpressible as error:
            raise Lost(LostCall(position=position or 0, tool=tool, reason="arguments", detail=str(error))) from error
        filled = tuple(
            FilledArgument(position=position, tool=tool, argument=path, value=value)
            for path, value in fitted.filled.items()
        )
        return PlannedCall(Call(offered.name, _text(fitted.arguments)), position, filled)


_text = json.JSONEncoder(ensure_ascii=False).encode
