"""Tools of a Postman collection, version 2.1: a request is a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from trialbed.errors import DataError
from trialbed_tools._imported import FoundTool, FoundTools, LeftOut
from trialbed_tools._references import References
from trialbed_tools._secrets import KEY
from trialbed_tools._skeletons import Skeletons
from trialbed_tools.forms import HEADER
from trialbed_tools.located import Key, Located, parse_json

DEEPEST, MOST = 20, 5_000
"""Folders within each other, and requests."""

LONGEST = 2_000
"""Characters of a description, and of a URL."""

VARIABLE = re.compile(r"\{\{\s{0,20}([^{}\s]{1,100})\s{0,20}\}\}")
IN_PATH = re.compile(r"(?<=/):([A-Za-z_][A-Za-z0-9_]{0,100})")
"""Parameters begin a segment; others, such as ``models:predict``, have a colon in them."""
BEGIN, END = "\ue000", "\ue001"
"""Marks of a variable in an address while it is taken apart."""

SET_ELSEWHERE = ("accept", "content-type", "content-length", "host", "user-agent")

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def read_postman(located: Located) -> FoundTools:
    """Return the requests of a collection as tools.

    Raises:
        DataError: it is malformed, or has no request that can be a tool; names the line and the key.
    """
    references, root = References(located), located.value
    info, _ = references.mapping(root.get("info"), ("info",))
    if "v2.1" not in str(info.get("schema", "")):
        raise references.fault(("info", "schema"), "is not a collection of version 2.1; export it as that")
    given = _list(root.get("variable"), ("variable",), references)
    variables = {
        str(one.get("key")): str(one.get("value", ""))
        for one in given
        if isinstance(one, dict) and one.get("value") and not KEY.search(str(one.get("key")))
    }
    tools, left_out = [], []
    for item, key in _requests(root, (), references):
        try:
            tools.append(_Request(item, key, references, variables).tool())
        except LeftOut as error:
            left_out.append(f"{str(item.get('name'))[:80]}: {error}")
    if not tools:
        raise references.fault(("item",), f"no request that can be a tool{f': {left_out[0]}' if left_out else ''}")
    return FoundTools(str(info.get("name") or "a collection")[:200], tuple(tools), None, tuple(left_out))


def _list(given: Any, key: Key, references: References) -> list[Any]:
    if not isinstance(given, list | None):
        raise references.fault(key, f"must be a list, and is {given!r:.40}")
    return given or []


def _requests(holder: Mapping[str, Any], key: Key, references: References) -> Iterator[tuple[Mapping[str, Any], Key]]:
    items = holder.get("item")
    if not isinstance(items, list):
        raise references.fault((*key, "item"), f"must be a list, and is {items!r:.40}")
    if len(key) > 2 * DEEPEST or len(items) > MOST:
        raise references.fault((*key, "item"), "more folders or requests than can be read")
    for number, one in enumerate(items):
        place = (*key, "item", number)
        item, _ = references.mapping(one, place)
        if "item" in item:
            yield from _requests(item, place, references)
        else:
            yield item, place


class _Request:
    def __init__(self, item: Mapping[str, Any], key: Key, references: References, variables: Mapping[str, str]) -> None:
        self._item = item
        self._key = (*key, "request")
        self._references = references
        self._variables = variables
        given = item.get("request")
        self._request, _ = references.mapping({"url": given} if isinstance(given, str) else given, self._key)
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def tool(self) -> FoundTool:
        name = self._item.get("name")
        if not isinstance(name, str) or not name:
            raise self._references.fault(self._key[:-1], "the request has no name")
        method = str(self._request.get("method", "GET")).upper()
        if not re.fullmatch(r"[A-Z]{3,10}", method):
            raise self._references.fault((*self._key, "method"), f"{method!r:.30} is no method")
        request = {"method": method, "path": self._path(), "query": self._query(), "headers": self._headers()}
        request |= self._body()
        schema: dict[str, Any] = {"type": "object", "properties": self._properties}
        return FoundTool(
            name=name,
            description=_text(self._request.get("description") or self._item.get("description") or name),
            parameters={**schema, "required": self._required} if self._required else schema,
            example=self._example(),
            request={key: value for key, value in request.items() if value},
        )

    def _path(self) -> str:
        url = self._request.get("url")
        raw = url.get("raw") if isinstance(url, dict) else url
        if not isinstance(raw, str) or not raw or len(raw) > LONGEST:
            raise self._references.fault((*self._key, "url"), "the request has no address")
        whole = VARIABLE.sub(lambda match: self._variables.get(match[1], match[0]), raw.partition("?")[0])
        whole = whole if "://" in whole else f"https://{whole}"
        try:
            parts = urlsplit(VARIABLE.sub(lambda match: f"{BEGIN}{match[1]}{END}", whole))
        except ValueError as error:
            raise LeftOut(f"its address is {raw!r:.80}, which is none") from error
        if parts.scheme not in ("http", "https") or BEGIN in parts.netloc:
            raise LeftOut(f"its address is {raw!r:.80}, in which a variable has no value")
        # Variables without a value, and :names, are for the model to give.
        path = IN_PATH.sub(r"{\1}", parts.path).replace(BEGIN, "{").replace(END, "}")
        for name in re.findall(r"\{([^{}]+)\}", path):
            self._put(name, {"type": "string"}, required=True)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"

    def _query(self) -> list[str]:
        url = self._request.get("url")
        return self._fields(url.get("query") if isinstance(url, dict) else None, (*self._key, "url", "query"))

    def _headers(self) -> list[str]:
        given = self._request.get("header")
        named = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        own = [one for one in named if str(one.get("key")).lower() not in SET_ELSEWHERE and _can_be_sent(one)]
        return self._fields(own, (*self._key, "header"))

    def _fields(self, given: Any, key: Key) -> list[str]:
        """Make parameters of entries with a key and a value; keys of the API are not the model's to give."""
        names: list[str] = []
        for number, one in enumerate(_list(given, key, self._references)):
            entry, place = self._references.mapping(one, (*key, number))
            name = entry.get("key")
            if not isinstance(name, str) or not name:
                raise self._references.fault(place, "the entry has no key")
            if entry.get("disabled") is True or KEY.search(name) or name in self._properties:
                continue
            self._put(name, {"type": "string", **_describe(entry)}, required=False)
            names.append(name)
        return names

    def _body(self) -> dict[str, str]:
        body = self._request.get("body")
        if not isinstance(body, dict) or not body.get("mode") or body.get("disabled") is True:
            return {}
        if body["mode"] == "urlencoded":
            self._fields(body.get("urlencoded"), (*self._key, "body", "urlencoded"))
            return {"body": "form"}
        if body["mode"] != "raw":
            raise LeftOut(f"its body is {body['mode']!r:.40}")
        try:
            value = parse_json(str(body.get("raw") or "null"), "body").value
        except DataError:
            raise LeftOut("its body is not JSON") from None
        if isinstance(value, dict) and not value.keys() & self._properties.keys():
            for name, part in value.items():
                self._put(name, _schema_of(part), required=False)
            return {"body": "json"}
        if value is None:
            return {}
        self._put("body_", _schema_of(value), required=True)
        return {"body": "json", "whole_body": "body_"}

    def _put(self, name: str, schema: dict[str, Any], *, required: bool) -> None:
        self._properties[name] = schema
        if required and name not in self._required:
            self._required.append(name)

    def _example(self) -> Any:
        responses = self._item.get("response")
        for one in responses if isinstance(responses, list) else ():
            code = one.get("code", 200) if isinstance(one, dict) else None
            if isinstance(code, int) and 200 <= code < 300 and isinstance(one.get("body"), str):
                try:
                    value = parse_json(one["body"], "body").value
                except DataError:
                    continue
                if isinstance(value, dict | list) and value:
                    return Skeletons().of_value(value)
        return None


def _can_be_sent(header: Mapping[str, Any]) -> bool:
    name = header.get("key")
    return not isinstance(name, str) or not name or HEADER.match(name) is not None


def _describe(entry: Mapping[str, Any]) -> dict[str, str]:
    text = _text(entry.get("description"))
    return {"description": text} if text else {}


def _text(given: Any) -> str:
    given = given.get("content") if isinstance(given, dict) else given
    return given[:LONGEST] if isinstance(given, str) else ""


def _schema_of(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return a schema that a value, and others like it, fits."""
    kind = KINDS.get(type(value))
    if kind is None:
        return {}
    if kind == "object" and depth < DEEPEST:
        return {"type": kind, "properties": {name: _schema_of(part, depth + 1) for name, part in value.items()}}
    if kind == "array" and value and depth < DEEPEST:
        return {"type": kind, "items": _schema_of(value[0], depth + 1)}
    return {"type": "number" if kind == "integer" else kind}
