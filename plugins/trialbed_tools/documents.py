"""Import tools from OpenAPI operations and from definitions in the form that model APIs take."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from trialbed.errors import DataError, UsageError
from trialbed.wire.redaction import shown_url
from trialbed_tools.forms import HEADER
from trialbed_tools.http import PLAIN, PlainBody, UnusableBody, without_user
from trialbed_tools.located import LARGEST, Key, Located, parse_document, read_document
from trialbed_tools.schemas import NODE, References, Schemas, Skeletons


@dataclass(frozen=True)
class FoundTool:
    """A tool in a document.

    Attributes:
        name: the document's name for it, or one made from it. ``unique_names`` makes it valid and unique for a file.
        parameters: a JSON Schema.
        example: the skeleton of an answer; None if the document does not describe it.
        request: the HTTP request for a call; None for other kinds of tools.
        reads: whether its definition says that its calls change nothing.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    example: Any = None
    request: Mapping[str, Any] | None = None
    reads: bool = False


class LeftOut(Exception):
    """An operation cannot be a tool; the message says why."""


@dataclass(frozen=True)
class FoundTools:
    """The tools of a document.

    Attributes:
        title: the document's title, in words.
        url: the base address of the requests.
        left_out: the skipped parts of the document, in words.
    """

    title: str
    tools: tuple[FoundTool, ...]
    url: str | None = None
    left_out: tuple[str, ...] = field(default=())


SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Keys for the schema of arguments in OpenAI's, Anthropic's and MCP's API."""

LONGEST_DEFINITION = 10_000
"""Longest description of a definition, in characters."""


def looks_like_definitions(value: Any) -> bool:
    """Return whether a value looks like a definition, a list of definitions, or a list under ``tools``."""
    if isinstance(value, dict):
        return any(key in value for key in ("tools", "result", "function", *SCHEMA_KEYS))
    return isinstance(value, list)


def read_definitions(located: Located) -> FoundTools:
    """Return the tools from definitions in the form of OpenAI's, Anthropic's or MCP's API.

    Malformed definitions are skipped.

    Raises:
        DataError: no definition can be a tool; the message names the line and the key.
    """
    value: Any = located.value
    key: Key = ()
    for name in ("result", "tools"):
        if isinstance(value, dict) and name in value:
            value, key = value[name], (*key, name)
    references = References(located)
    given = {key: value} if isinstance(value, dict) else {}
    if isinstance(value, list):
        given = {(*key, number): one for number, one in enumerate(value)}
    if not given:
        raise references.fault(key, "must be a list of definitions, with at least one")
    tools, left_out = [], []
    for place, one in given.items():
        try:
            tools.append(_tool(one, place, references))
        except DataError as error:
            left_out.append(str(error))
    if not tools:
        raise DataError(several(left_out))
    title = "definitions" if isinstance(value, list) else "a definition"
    return FoundTools(title, tuple(tools), left_out=(*left_out, *references.faults))


def several(faults: Sequence[str]) -> str:
    """Join faults into one text, at most ten of them."""
    return "; ".join([*faults[:10], *([f"and {len(faults) - 10} more"] if len(faults) > 10 else [])])


def _tool(given: Any, key: Key, references: References) -> FoundTool:
    outer, key = references.mapping(given, key)
    if outer.get("type", "function") not in ("function", "custom") and "function" not in outer:
        raise references.fault((*key, "type"), f"{outer['type']!r:.40} is a tool of the vendor's own, not a function")
    of_function = (outer["function"], (*key, "function")) if "function" in outer else (outer, key)
    inner, place = references.mapping(*of_function)
    name, description = inner.get("name"), inner.get("description")
    if not isinstance(name, str) or not name:
        raise references.fault(place, "the definition has no name")
    answer, example = inner.get("outputSchema"), outer.get("example")
    if example is None and answer is not None:
        # References in an output schema are relative to it.
        own = References(Located(references.place((*place, "outputSchema")), answer))
        example = Skeletons().of_schema(Schemas(own, "writeOnly").schema(answer, ()))
        references.faults |= own.faults
    return FoundTool(
        name=name,
        description=description[:LONGEST_DEFINITION] if isinstance(description, str) else "",
        parameters=_parameters(inner, place, references),
        example=example,
        reads=isinstance(inner.get("annotations"), dict) and inner["annotations"].get("readOnlyHint") is True,
    )


def _parameters(inner: Mapping[str, Any], place: Key, references: References) -> dict[str, Any]:
    """Return the schema of the arguments unchanged, since it may contain references into itself."""
    key = next((key for key in SCHEMA_KEYS if inner.get(key) is not None), "parameters")
    found = inner.get(key, {})
    if not isinstance(found, dict):
        raise references.fault((*place, key), f"must be a JSON Schema, and is {found!r:.40}")
    if found.get("type", "object") != "object":
        raise references.fault((*place, key, "type"), f"arguments are an object, and not {found['type']!r:.40}")
    return {"type": "object", "properties": {}, **found}


MOST = 5_000
"""Most operations in a document."""

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
METHOD = re.compile(r"[A-Z][A-Z-]{1,19}")
PLACES = ("path", "query", "header", "cookie")
PLACES_OF_2 = ("path", "query", "header", "body", "formData")
SET_ELSEWHERE = ("accept", "content-type", "authorization")
"""Headers that OpenAPI excludes from parameters."""

KEYS = ("token", "access_token", "api_key", "apikey")
"""Names of parameters that hold keys even if the document does not declare them."""

UNKNOWN_STYLES = {
    ("query", "spaceDelimited"), ("query", "pipeDelimited"), ("path", "label"), ("path", "matrix"),
}  # fmt: skip
"""Places and styles of parameters that requests here do not support."""

OUTSIDE_SCHEMAS = ("name", "in", "required", "collectionFormat")
"""Keys of an OpenAPI 2 parameter that do not belong to its schema."""

COLLECTIONS = {"ssv": "spaceDelimited", "tsv": "pipeDelimited", "pipes": "pipeDelimited"}
"""Maps list formats of OpenAPI 2 to styles of OpenAPI 3. ``multi`` is an exploded list instead."""

LONGEST = 2_000
"""Longest description, in characters."""

VERSION = re.compile(r"3\.[0-9]{1,3}\.[0-9]{1,3}(?:-[a-z0-9.]{1,20})?|2\.0")
VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
JSON, FORM, FILES = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
JSON_TYPE = re.compile(r"(?:application/(?:[a-z0-9.+-]{1,100}\+)?json|\*/\*)(?:;[ -~]{0,100})?", re.IGNORECASE)
FORM_TYPE = re.compile(rf"{FORM}(?:;[ -~]{{0,100}})?", re.IGNORECASE)

Found = tuple[Mapping[str, Any], Key]
"""A part of a document and its key."""


def read_openapi(located: Located, address: str, folder: Path | None = None) -> FoundTools:
    """Return the operations of an OpenAPI document, version 2 or 3, as tools.

    Malformed operations are skipped, and so are optional parts that cannot be used.

    Args:
        address: the document's address, the base for relative servers.
        folder: the folder with the document's other files, if any.

    Raises:
        DataError: the document is malformed, or no operation can be a tool; the message names the line and the key.
    """
    return _Document(located, address, folder).read()


class _Document:
    def __init__(self, located: Located, address: str, folder: Path | None) -> None:
        self._root = located.value
        self._references = References(located, folder)
        self._address = address.partition("?")[0]
        self._left_out: list[str] = []

    def read(self) -> FoundTools:
        key = "swagger" if "swagger" in self._root else "openapi"
        version = self._root[key]
        if not isinstance(version, str) or VERSION.fullmatch(version) is None:
            raise self._references.fault((key,), f"version {version!r:.30} is neither OpenAPI 3 nor 2.0")
        info = self._root.get("info")
        words = [info.get(key) for key in ("title", "version")] if isinstance(info, dict) else []
        tools = []
        for number, (path, key_of, item, operation) in enumerate(self._operations()):
            if number == MOST:
                raise self._references.fault(("paths",), f"more than {MOST:,} operations")
            try:
                tools.append(self._tool(path, key_of, item, operation))
            except (LeftOut, DataError) as error:
                self._left_out.append(f"{_name(path, key_of)}: {error}")
        if not tools:
            reason = f": {several(self._left_out)}" if self._left_out else ""
            raise self._references.fault(("paths",), f"no operation that can be a tool{reason}")
        title = " ".join(word for word in words if isinstance(word, str)) or "an OpenAPI document"
        left_out = (*self._left_out, *self._references.faults)
        return FoundTools(title, tuple(tools), self._server(self._root, ()), left_out)

    def _operations(self) -> Iterator[tuple[str, Key, Mapping[str, Any], Any]]:
        """Yield the path, key, path item and content of each operation. Behind a reference, the key is the target's."""
        paths, _ = self._references.mapping(self._root.get("paths"), ("paths",))
        for path, given in paths.items():
            if path.startswith("x-"):
                continue
            if not path.startswith("/"):
                raise self._references.fault(("paths", path), "a path begins with /")
            try:
                item, place = self._references.mapping(given, ("paths", path))
            except DataError as error:
                self._left_out.append(f"{path}: {error}")
                continue
            for method in METHODS:
                if method in item:
                    yield path, (*place, method), item, item[method]
            others = item.get("additionalOperations")
            for method, operation in others.items() if isinstance(others, dict) else ():
                yield path, (*place, "additionalOperations", method), item, operation

    def _tool(self, path: str, key: Key, item: Mapping[str, Any], given: Any) -> FoundTool:
        method = str(key[-1])
        if METHOD.fullmatch(method.upper()) is None:
            raise LeftOut(f"no request has the method {method!r:.30}")
        operation, _ = self._references.mapping(given, key)
        schemas = Schemas(self._references, "readOnly")
        arguments = _Arguments(self._references)
        parameters, body = self._parameters(key, operation, item)
        for parameter, place in parameters:
            try:
                arguments.add_parameter(parameter, place, schemas)
            except LeftOut as error:
                if parameter.get("required") is True or parameter["in"] == "path":
                    raise LeftOut(f"it needs {error}") from error
                self._left_out.append(f"{_name(path, key)}: {error}, which is optional")
        for name in VARIABLE.findall(path):
            if name not in arguments.places.get("path", []):
                raise self._references.fault(key, f"the path has {{{name}}}, and no parameter of this name")
        if body is not None:
            content, place = self._references.mapping(*body)
            if kind := arguments.add_body(content, place, schemas):
                self._left_out.append(f"the body of {_name(path, key)}, which is {kind!r:.60} and optional")
        server = self._server(operation, key) or self._server(item, key[:-1])
        request = {"method": method.upper(), "path": (server or "") + path, **arguments.request()}
        wanted = operation.get("operationId")
        return FoundTool(
            name=wanted if isinstance(wanted, str) and wanted.strip() else f"{method} {path}",
            description=_description(operation, item),
            parameters=arguments.schema(),
            example=self._example(operation, path, key),
            request=request,
        )

    def _parameters(
        self, key: Key, operation: Mapping[str, Any], item: Mapping[str, Any]
    ) -> tuple[list[Found], tuple[Any, Key] | None]:
        found: dict[tuple[str, str], Found] = {}
        hidden, places = self._secrets(), PLACES_OF_2 if "swagger" in self._root else PLACES
        for holder, place in ((item, key[:-1]), (operation, key)):
            given = holder.get("parameters", [])
            if not isinstance(given, list):
                raise self._references.fault((*place, "parameters"), f"must be a list, and is {given!r:.40}")
            for number, one in enumerate(given):
                parameter, where = self._references.mapping(one, (*place, "parameters", number))
                if not self._references.spend("readOnly", len(str(parameter.get("description", ""))[:LONGEST]) + NODE):
                    raise LeftOut("there are too many parameters before it")
                name, kind = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or not name:
                    raise self._references.fault(where, "the parameter has no name")
                if kind not in places:
                    raise self._references.fault((*where, "in"), f"{kind!r:.30} is not one of {', '.join(places)}")
                if name.lower() in KEYS and kind in ("query", "header", "formData"):
                    self._left_out.append(f"{self._references.place(where)}: the parameter {name!r}, which is a key")
                elif (kind, name.lower()) not in hidden:
                    found[str(kind), name] = parameter, where
        if places is PLACES_OF_2:
            return self._of_2(list(found.values()), operation, key)
        body = (operation["requestBody"], (*key, "requestBody")) if "requestBody" in operation else None
        return list(found.values()), body

    def _of_2(
        self, given: list[Found], operation: Mapping[str, Any], key: Key
    ) -> tuple[list[Found], tuple[Any, Key] | None]:
        """Convert parameters of OpenAPI 2 to OpenAPI 3. Some of them make up the body."""
        kinds = operation.get("consumes", self._root.get("consumes"))
        kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
        parameters: list[Found] = []
        fields: dict[str, Any] = {}
        for parameter, place in given:
            required = parameter.get("required") is True
            schema = {name: part for name, part in parameter.items() if name not in OUTSIDE_SCHEMAS}
            if parameter["in"] == "body":
                content = dict.fromkeys(kinds or [JSON], parameter)
                return parameters, ({"required": required, "content": content}, place)
            if parameter["in"] == "formData":
                fields[parameter["name"]] = schema
                continue
            kind = str(parameter.get("collectionFormat"))
            listed = {"style": COLLECTIONS.get(kind), "explode": kind == "multi" or "items" not in schema}
            parameters.append(({**parameter, "schema": schema, **listed}, place))
        if not fields:
            return parameters, None
        names = [one["name"] for one, _ in given if one["in"] == "formData" and one.get("required") is True]
        has_file = any(part.get("type") == "file" for part in fields.values())
        kind = FILES if has_file or (kinds and not any(map(FORM_TYPE.fullmatch, kinds))) else FORM
        schema = {"type": "object", "properties": fields, "required": names}
        return parameters, ({"required": bool(names), "content": {kind: {"schema": schema}}}, key)

    def _secrets(self) -> set[tuple[str, str]]:
        """Return the places of keys. The program provides these, not the model."""
        found = {("header", name) for name in SET_ELSEWHERE}
        holder = self._root.get("components")
        schemes = holder.get("securitySchemes") if isinstance(holder, dict) else self._root.get("securityDefinitions")
        for scheme in schemes.values() if isinstance(schemes, dict) else ():
            if isinstance(scheme, dict) and scheme.get("type") == "apiKey":
                found.add((str(scheme.get("in")), str(scheme.get("name")).lower()))
        return found

    def _server(self, holder: Mapping[str, Any], key: Key) -> str | None:
        servers = holder.get("servers")
        if "swagger" in holder:
            schemes = holder.get("schemes")
            scheme = schemes[0] if isinstance(schemes, list) and schemes and "https" not in schemes else "https"
            host = f"{scheme}://{holder['host']}" if "host" in holder else ""
            servers = [{"url": f"{host}{holder.get('basePath', '')}"}]
        if not isinstance(servers, list) or not servers:
            return None
        server, place = self._references.mapping(servers[0], (*key, "servers", 0))
        url = server.get("url")
        if not isinstance(url, str):
            raise self._references.fault((*place, "url"), "a server has a url")
        variables = server.get("variables")
        for name in VARIABLE.findall(url):
            variable = variables.get(name) if isinstance(variables, dict) else None
            default = variable.get("default") if isinstance(variable, dict) else None
            if not isinstance(default, str):
                raise self._references.fault((*place, "variables"), f"{name!r:.60} has no default")
            url = url.replace(f"{{{name}}}", default)
        try:
            joined = without_user(urljoin(self._address, url)).rstrip("/")
        except ValueError as error:
            raise self._references.fault((*place, "url"), f"{url!r:.80} is not an address: {error}") from error
        return joined if joined.startswith(("http://", "https://")) else None

    def _example(self, operation: Mapping[str, Any], path: str, key: Key) -> Any:
        responses = operation.get("responses")
        if not isinstance(responses, dict):
            return None
        for status in (*sorted(one for one in responses if str(one).startswith("2")), "default"):
            if status not in responses:
                continue
            try:
                response, place = self._references.mapping(responses[status], (*key, "responses", status))
            except DataError as error:
                self._left_out.append(f"{_name(path, key)}: {error}; its answers have no form")
                return None
            # In OpenAPI 2, an answer has one schema. In OpenAPI 3, it has one for each content type.
            content = {JSON: response} if "schema" in response else response.get("content")
            for kind, media in content.items() if isinstance(content, dict) else ():
                if JSON_TYPE.fullmatch(kind) and isinstance(media, dict):
                    return self._skeleton(media, (*place, "content", kind))
        return None

    def _skeleton(self, media: Mapping[str, Any], key: Key) -> Any:
        if "schema" in media:
            made = Schemas(self._references, "writeOnly").schema(media["schema"], (*key, "schema"))
            skeleton = Skeletons().of_schema(made)
            return skeleton if skeleton not in ({}, []) else None
        return media["example"] if isinstance(media.get("example"), dict | list) else None


class _Arguments:
    """The arguments of an operation, from its parameters and the fields of its body."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._styles: dict[str, str] = {}
        self._body: dict[str, str] = {}
        self.places: dict[str, list[str]] = {}

    def add_parameter(self, parameter: Mapping[str, Any], key: Key, schemas: Schemas) -> None:
        """Add a parameter.

        Raises:
            LeftOut: requests here do not support it.
        """
        name, place, style = parameter["name"], parameter["in"], parameter.get("style")
        if place == "cookie":
            raise LeftOut(f"the cookie {name!r:.60}")
        if place == "header" and HEADER.match(name) is None:
            raise LeftOut(f"the header {name!r:.60}, which is not a valid name")
        if (place, style) in UNKNOWN_STYLES:
            raise LeftOut(f"the parameter {name!r:.60} in the style {style}")
        if name in self._properties:
            raise LeftOut(f"two parameters that are called {name!r:.60}")
        given, where = parameter.get("schema", {}), (*key, "schema")
        content = parameter.get("content")
        if "schema" not in parameter and isinstance(content, dict) and content:
            kind, media = next(iter(content.items()))
            given, where = media.get("schema", {}) if isinstance(media, dict) else {}, (*key, "content", kind, "schema")
            if JSON_TYPE.fullmatch(kind):
                self._styles[name] = "json"
        schema = schemas.schema(given, where)
        if isinstance(parameter.get("description"), str):
            schema["description"] = parameter["description"][:LONGEST]
        self._put(name, schema, required=parameter.get("required") is True or place == "path")
        self.places.setdefault(place, []).append(name)
        if place == "query" and parameter.get("explode") is False:
            self._styles[name] = "commas"
        if place in ("path", "header") and parameter.get("explode") is True and _is_object(schema):
            self._styles.setdefault(name, "pairs")
        if place == "query" and style == "deepObject":
            self._styles[name] = "deep"

    def add_body(self, body: Mapping[str, Any], key: Key, schemas: Schemas) -> str:
        """Add the fields of a body. Returns the type of an optional body that cannot be sent."""
        content = body.get("content")
        if not isinstance(content, dict) or not content:
            raise self._references.fault((*key, "content"), "a body has a content")
        for pattern, form, usual in ((JSON_TYPE, "json", JSON), (FORM_TYPE, "form", FORM)):
            for kind, media in content.items():
                if pattern.fullmatch(kind):
                    given = media.get("schema", {}) if isinstance(media, dict) else {}
                    schema = schemas.schema(given, (*key, "content", kind, "schema"))
                    self._put_body(schema, form, required=body.get("required") is True)
                    if kind.lower() != usual and "*" not in kind:
                        self._body["content_type"] = kind
                    return ""
        if body.get("required") is True:
            raise LeftOut(f"its body is {next(iter(content))!r:.60}")
        return str(next(iter(content)))

    def _put_body(self, schema: dict[str, Any], form: str, *, required: bool) -> None:
        self._body["body"] = form
        fields = _fields(schema)
        of_fields = fields["required"] if fields else []
        if fields and not fields["properties"].keys() & self._properties.keys() and (required or not of_fields):
            for name, part in fields["properties"].items():
                self._put(name, part, required=name in of_fields)
            return
        name = "body"
        while name in self._properties:
            name += "_"
        self._put(name, schema, required=required)
        self._body["whole_body"] = name

    def _put(self, name: str, schema: Mapping[str, Any], *, required: bool) -> None:
        self._properties[name] = schema
        if required:
            self._required.append(name)

    def schema(self) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "object", "properties": self._properties}
        return {**made, "required": self._required} if self._required else made

    def request(self) -> dict[str, Any]:
        found = {
            "query": self.places.get("query"),
            "headers": self.places.get("header"),
            "styles": self._styles,
            **self._body,
        }
        return {name: value for name, value in found.items() if value}


def _is_object(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return "properties" in schema or "object" in (kinds if isinstance(kinds, list) else [kinds])


def _fields(schema: Mapping[str, Any], *, is_part: bool = False) -> dict[str, Any] | None:
    """Return the properties and required names of an object if they can be merged with other arguments."""
    if any(name in schema for name in ("oneOf", "anyOf", "not", "if", "patternProperties")):
        return None
    parts = [_fields(part, is_part=True) for part in schema.get("allOf", ())]
    own = schema.get("properties")
    if any(part is None for part in parts) or not (isinstance(own, dict) or parts or is_part):
        return None
    names = schema.get("required")
    required = list(names) if isinstance(names, list) else []
    properties: dict[str, Any] = {}
    for part in parts:
        properties |= part["properties"] if part else {}
        required += part["required"] if part else []
    return {"properties": {**properties, **(own or {})}, "required": required}


def _name(path: str, key: Key) -> str:
    return f"{str(key[-1]).upper()} {path}"


def _description(operation: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    texts = [operation.get("summary") or item.get("summary"), operation.get("description") or item.get("description")]
    lines = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    return "\n".join(dict.fromkeys(lines))[:LONGEST]


FETCH_SECONDS = 60.0
"""Timeout for fetching a document."""

KINDS = (
    "an OpenAPI document (key 'openapi' or 'swagger'), or a list of definitions of tools as OpenAI's, Anthropic's or "
    "MCP's API has them"
)


def find_tools(source: str) -> FoundTools:
    """Return the tools of the document in a file or at a URL.

    Raises:
        UsageError: it does not exist or cannot be fetched.
        DataError: it is malformed; the message names the line and the key.
    """
    if is_url(source):
        try:
            urlsplit(source)
        except ValueError as error:
            raise UsageError(f"{source.rpartition('@')[2]}: is not an address") from error
        return _tools(parse_document(_fetch(source), shown_url(source)), source)
    if not Path(source).is_file():
        raise UsageError(f"{source}: there is no such file")
    return _tools(read_document(Path(source)), source)


def is_url(source: str) -> bool:
    """Return whether a source is a URL rather than a file."""
    return source.lower().startswith(("http:", "https:"))


def _tools(located: Located, source: str) -> FoundTools:
    value = located.value
    if isinstance(value, dict) and ("openapi" in value or "swagger" in value):
        return read_openapi(located, source, None) if is_url(source) else read_openapi(located, "", Path(source).parent)
    if looks_like_definitions(value):
        return read_definitions(located)
    raise DataError(f"{located.name}: is not {KINDS}")


def _fetch(url: str) -> str:
    from trialbed.wire._httpx import httpx

    deadline = time.monotonic() + FETCH_SECONDS
    shown = shown_url(url)
    try:
        with httpx.stream("GET", url, headers=PLAIN, follow_redirects=True, timeout=FETCH_SECONDS / 2) as answer:
            if answer.status_code != 200:
                raise UsageError(f"{shown}: the server answers {answer.status_code} {answer.reason_phrase}".rstrip())
            body = PlainBody(answer.headers, LARGEST)
            for part in answer.iter_raw():
                body.add(part)
                if time.monotonic() > deadline:
                    raise UsageError(f"{shown}: takes longer than {FETCH_SECONDS:g} s")
        return body.content().decode("utf-8-sig")
    except UnusableBody as error:
        raise UsageError(f"{shown}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UsageError(f"{shown}: cannot be got: {type(error).__name__}: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{shown}: is not UTF-8: {error.reason}") from error
