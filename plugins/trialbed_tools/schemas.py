"""Resolve the JSON Schemas of documents, and make skeletons of answers from them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from trialbed.errors import DataError
from trialbed_scripted.schemas import SchemaValues
from trialbed_tools.located import LARGEST, Key, Located, read_document, title

LONGEST = 2_000
"""Longest description within a schema, in characters."""

MOST_TEXT: Mapping[str, int] = {"readOnly": 8 * 2**20, "writeOnly": 64 * 2**20}
"""Most characters in all schemas of a document's requests, and of its answers. Beyond, only the type is kept."""

NODE = 20
"""Size of a schema in characters, without its texts."""

MOST_STEPS = 20
"""Longest chain of references."""

DEEPEST, MOST_NODES = 12, 4_000
"""Most nested references, and most schemas, in one tool. Beyond, only the type is kept."""

NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
ONE = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
LEFT_OUT = frozenset({"xml", "externalDocs", "discriminator", "example", "examples", "nullable"}) | {
    "readOnly", "writeOnly", "deprecated", "definitions",
}  # fmt: skip
"""Keywords that do not describe the form of a value, or need the whole document."""


DOCUMENTS = (".json", ".yaml", ".yml")
"""Suffixes of a document's other files. Files of keys, such as ``.env``, have different ones."""

FILE = -1
"""The first part of keys in another file of a document, before its name. It is not a valid list index."""


class References:
    """Resolves the references in a document.

    Args:
        folder: the document's folder, if it may refer to other files there.

    Attributes:
        faults: schemas that cannot be read, in words. Any value fits them.
    """

    def __init__(self, located: Located, folder: Path | None = None) -> None:
        self.faults: dict[str, None] = {}
        self._files = {"": located}
        self._folder = folder and folder.resolve()
        self._bytes = LARGEST
        self._left = dict(MOST_TEXT)

    def spend(self, hidden: str, characters: int) -> bool:
        """Spend characters of the limit for all schemas of a kind. Returns whether any are left.

        A short document can expand to a huge one, since many parts may refer to the same one.

        Args:
            hidden: as for ``Schemas``.
        """
        self._left[hidden] -= characters
        return self._left[hidden] > 0

    def place(self, key: Key) -> str:
        """Return the file, line and key of a part, for messages."""
        name = _file_of(key)
        inner = key[2:] if name else key
        return f"{self._files[name].place(inner)}: {title(inner)}".removesuffix(": ")

    def fault(self, key: Key, problem: str) -> DataError:
        """Return an error that names the file, line and key of a part."""
        return DataError(f"{self.place(key)}: {problem}")

    def mapping(self, value: Any, key: Key) -> tuple[Mapping[str, Any], Key]:
        """Return an object, or the target of its reference, with its key.

        Raises:
            DataError: it is not an object; or its reference has no target, leaves the document's folder or is circular.
                The message names the key.
        """
        for _ in range(MOST_STEPS):
            if not isinstance(value, dict):
                raise self.fault(key, f"must be an object, and is {value!r:.40}")
            if not isinstance(value.get("$ref"), str):
                return value, key
            value, key = self._target(value["$ref"], (*key, "$ref"))
        raise self.fault(key, "the references lead in a circle")

    def _target(self, reference: str, key: Key) -> tuple[Any, Key]:
        file, _, pointer = reference.partition("#")
        name = _file_of(key)
        if file:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(file)))
            if name not in self._files:
                self._files[name] = self._read(name, reference, key)
        value = self._files[name].value
        found: list[int | str] = [FILE, name] if name else []
        for part in filter(None, unquote(pointer).split("/")):
            step: int | str = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and part.isdecimal() and len(part) < 9:
                step = int(part)
            if step not in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
                raise self.fault(key, f"there is no {reference!r:.80}")
            value = value[step]
            found.append(step)
        return value, tuple(found)

    def _read(self, name: str, reference: str, key: Key) -> Located:
        """Read another file of the document from the same folder or below."""
        if self._folder is None or "://" in reference:
            raise self.fault(key, f"{reference!r:.80} is in another document; bundle them into one first")
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise self.fault(key, f"{reference!r:.80} is outside the folder of the document")
        if not path.is_file() or path.suffix not in DOCUMENTS:
            raise self.fault(key, f"there is no document {name!r:.80}")
        self._bytes -= path.stat().st_size
        if self._bytes < 0:
            raise self.fault(key, f"the files of the document have more than {LARGEST:,} bytes")
        return read_document(path)


def _file_of(key: Key) -> str:
    """Return the name of the other file that contains a part; empty for the document."""
    return str(key[1]) if key[:1] == (FILE,) else ""


class Schemas:
    """Makes the schemas of one tool, with all references resolved.

    Args:
        hidden: ``readOnly`` in a request and ``writeOnly`` in an answer. Properties with it are dropped.
    """

    def __init__(self, references: References, hidden: str) -> None:
        self._references = references
        self._hidden = hidden
        self._count = 0

    def schema(self, value: Any, key: Key, within: tuple[Key, ...] = ()) -> dict[str, Any]:
        """Return a schema in JSON Schema 2020 without references.

        Invalid parts are added to the faults of the references, and any value fits them.

        Args:
            within: the referenced schemas that enclose it.
        """
        if isinstance(value, bool):
            return {} if value else {"not": {}}
        beside = {
            name: self._plain(name, value[name])
            for name in ("description", "default")
            if isinstance(value, dict) and name in value
        }
        is_reference = isinstance(value, dict) and isinstance(value.get("$ref"), str)
        try:
            found, place = self._references.mapping(value, key)
        except DataError as error:
            self._references.faults[f"{error}; any value fits there"] = None
            return beside
        self._count += 1
        if not self._references.spend(self._hidden, NODE + len(str(key[-1:]))):
            return {"type": found["type"]} if isinstance(found.get("type"), str) else {}
        if place in within or len(within) > DEEPEST or self._count > MOST_NODES:
            return {
                name: self._plain(name, found[name])
                for name in ("type", "description")
                if isinstance(found.get(name), str)
            }
        if is_reference:
            within = (*within, place)
        made: dict[str, Any] = {}
        for name, part in found.items():
            if name in LEFT_OUT or not isinstance(name, str) or name.startswith(("x-", "$")):
                continue
            try:
                made[name] = self._keyword(name, part, (*place, name), within)
            except DataError as error:
                self._references.faults[f"{error}; any value fits there"] = None
        _shed(made, self._hidden_names(found))
        return _of_2020({**made, **beside}, nullable=found.get("nullable") is True)

    def _hidden_names(self, found: Mapping[str, Any]) -> set[str]:
        properties = found.get("properties")
        named = properties.items() if isinstance(properties, dict) else ()
        return {name for name, part in named if isinstance(part, dict) and part.get(self._hidden) is True}

    def _keyword(self, name: str, part: Any, key: Key, within: tuple[Key, ...]) -> Any:
        if name in NAMED:
            if not isinstance(part, dict):
                raise self._references.fault(key, f"must be an object, and is {part!r:.40}")
            return {item: self.schema(schema, (*key, item), within) for item, schema in part.items()}
        if name in SEVERAL:
            if not isinstance(part, list):
                raise self._references.fault(key, f"must be a list, and is {part!r:.40}")
            return [self.schema(schema, (*key, number), within) for number, schema in enumerate(part)]
        if name in ONE and (name != "additionalProperties" or not isinstance(part, bool)):
            return self.schema(part, key, within)
        return self._plain(name, part)

    def _plain(self, name: str, part: Any) -> Any:
        """Return the value of a keyword other than a schema. Only requests keep descriptions."""
        if name == "description" and isinstance(part, str):
            part = part[:LONGEST] if self._hidden == "readOnly" else ""
        size = len(part) if isinstance(part, str) else len(repr(part))
        enough = self._references.spend(self._hidden, size)
        return "" if name == "description" and not enough else part


def _shed(schema: dict[str, Any], names: set[str]) -> None:
    if names:
        schema["properties"] = {name: part for name, part in schema["properties"].items() if name not in names}
        if isinstance(schema.get("required"), list):
            schema["required"] = [name for name in schema["required"] if name not in names]


def _of_2020(schema: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Convert a schema of OpenAPI 3.0 to JSON Schema, with null as a type and exclusive limits as numbers."""
    for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        excluded = schema.get(bound)
        if isinstance(excluded, bool):
            del schema[bound]
            if excluded and limit in schema:
                schema[bound] = schema.pop(limit)
    if schema.get("required") == [] or isinstance(schema.get("required"), bool):
        del schema["required"]
    if nullable and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    return schema


LEVELS, MOST_LEAVES, MOST_CHOICES = 6, 80, 20
"""Limits of a skeleton: levels, leaves, and values of an enumeration."""

ITEMS = 2
"""Length of a list."""

WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "NoneType"}

FORMATS: Mapping[str, list[str]] = {
    "date": ["2026-03-14", "2026-05-02", "2026-08-21", "2026-11-09"],
    "date-time": ["2026-03-14T09:26:53Z", "2026-05-02T17:40:11Z", "2026-08-21T06:05:37Z", "2026-11-09T22:18:04Z"],
    "time": ["06:05:37Z", "09:26:53Z", "17:40:11Z", "22:18:04Z"],
}
"""Maps formats to example texts."""


class Skeletons:
    """Makes one skeleton."""

    def __init__(self) -> None:
        self._leaves = 0

    def of_schema(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """Return a skeleton of the values that fit a schema without references."""
        # Take the first alternative other than null. Parts of ``allOf`` are merged.
        flat = SchemaValues({}).flat(schema, 0)
        schema = next((one for one in flat if one.get("type") != "null"), {"type": "null"})
        if "const" in schema:
            return {"_one_of": [schema["const"]]}
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return {"_one_of": schema["enum"][:MOST_CHOICES]}
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("items")
            return [] if depth >= LEVELS else _list(self.of_schema(items if isinstance(items, dict) else {}, depth + 1))
        self._leaves += 1
        known = FORMATS.get(str(schema.get("format"))) if kind == "string" else None
        return {"_one_of": known} if known else WORDS.get(kind, "str")

    def _object(self, schema: Mapping[str, Any], depth: int) -> Any:
        properties = schema.get("properties")
        if depth >= LEVELS or not isinstance(properties, dict):
            return {}
        few = list(properties.items())[: max(1, MOST_LEAVES - self._leaves)]
        return {name: self.of_schema(part if isinstance(part, dict) else {}, depth + 1) for name, part in few}


def _list(item: Any) -> list[Any]:
    if isinstance(item, dict) and "_one_of" not in item:
        return [{**item, "_list_length": ITEMS}]
    return [item] if item in ([], {}) else [item] * (1 if isinstance(item, list) else ITEMS)


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"
