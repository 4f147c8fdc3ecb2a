"""Read YAML, JSON and JSON Lines into plain values, with the line of each key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from trialbed.errors import DataError, UsageError
from trialbed.files import read_text
from trialbed.suggestions import closest
from trialbed.wire import json_decoder

MOST_NODES = 1_000_000
"""Most values in a YAML file. Each mention of an alias counts, since a short file can expand to a huge one."""

DEEPEST = 100
"""Most levels of nested values."""

LARGEST = 32 * 2**20
"""Largest file, in characters."""

Key = tuple[int | str, ...]

F = TypeVar("F", bound=BaseModel)


@dataclass(frozen=True)
class Located:
    """A value with the lines of its parts.

    Attributes:
        name: the file's name, for messages.
        lines: the line of each part, counted from 1.
        texts: the source text of values other than texts.
    """

    name: str
    value: Any
    lines: dict[Key, int] = field(default_factory=dict)
    texts: dict[Key, str] = field(default_factory=dict)

    def place(self, key: Key) -> str:
        """Return the file and line of a part, or of its nearest parent with a line."""
        for length in range(len(key), -1, -1):
            if key[:length] in self.lines:
                return f"{self.name}:{self.lines[key[:length]]}"
        return self.name


def title(key: Key) -> str:
    """Format a key for messages. Tasks are counted from 1: ``task 2: expect.calls: ``."""
    rest = list(key)
    words = []
    if rest[:1] == ["tasks"] and len(rest) > 1:
        words.append(f"task {int(rest[1]) + 1}")
        rest = rest[2:]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).removeprefix(".")
    return "".join(f"{word}: " for word in [*words, name] if word)


@contextmanager
def name_place(*places: str) -> Iterator[None]:
    """Put a place before the text of errors and raise them as data errors.

    Raises:
        DataError: the block raised an error.
    """
    try:
        yield
    except (DataError, UsageError) as error:
        raise DataError(f"{': '.join(places)}: {error}") from error


def read_yaml(path: Path) -> Located:
    """Read a YAML file.

    As in YAML 1.2, dates stay texts, and only ``true`` and ``false`` are truth values.

    Raises:
        DataError: it is not YAML, a key occurs twice, or it expands to too much; the message names the line.
    """
    return parse_yaml(_text(path), str(path))


def read_document(path: Path) -> Located:
    """Read a file in JSON or YAML."""
    return parse_document(_text(path), str(path))


def parse_document(text: str, name: str) -> Located:
    """Read a text as YAML, unless it looks like JSON and its name does not say YAML.

    Raises:
        DataError: it is neither; the message names the line.
    """
    is_json = text.lstrip()[:1] in ("{", "[") and not name.endswith((".yaml", ".yml"))
    return parse_json(text, name) if is_json else parse_yaml(text, name)


def parse_yaml(text: str, name: str) -> Located:
    """Read a text like ``read_yaml``."""
    try:
        node = yaml.compose(text, _Loader)
    except (yaml.YAMLError, UnicodeEncodeError) as error:  # a lone surrogate is not YAML
        mark = getattr(error, "problem_mark", None)
        # If a part is missing at the end, report the last line plus one.
        line = "" if mark is None else f":{min(mark.line, text.rstrip().count(chr(10))) + 1}"
        raise DataError(f"{name}{line}: is not valid YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError:
        raise DataError(f"{name}: is nested too deeply") from None
    located = Located(name, None)
    return located if node is None else replace(located, value=_Builder(located).build(node, ()))


def parse_json(text: str, name: str) -> Located:
    """Read a JSON text.

    Raises:
        DataError: it is not JSON, or a key occurs twice; the message names the line.
    """
    try:
        return Located(name, _json(text))
    except json.JSONDecodeError as error:
        raise DataError(f"{name}:{error.lineno}: is not valid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: is not valid JSON: {error}") from error


def read_json_line(line: str, place: str) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Raises:
        DataError: the line is not an object; the message names the place.
    """
    try:
        value = _json(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{place}: each line is a JSON object")
    return value


def validate(form: type[F], located: Located, at: Key = ()) -> F:
    """Validate a value against a form.

    Args:
        at: the key of the value, if it is a part of the file.

    Raises:
        DataError: the value does not fit; the message names the line and the key.
    """
    try:
        return form.model_validate(located.value)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        # Of the members of a union, choose the one with the deepest error, and a text last if keys are given.
        fault = max(errors, key=lambda one: (len(real_key(located.value, one["loc"])), not _is_text_of_keys(one)))
        key = real_key(located.value, fault["loc"])
        if fault["type"] == "missing":
            key = (*key, fault["loc"][-1])
        reason = _reason(form, fault, located.texts.get(key))
        key = (*at, *key)
        raise DataError(f"{located.place(key)}: {title(key)}{reason}") from error


def _is_text_of_keys(fault: Any) -> bool:
    return fault["type"] == "string_type" and isinstance(fault["input"], dict)


def real_key(value: Any, loc: Key) -> Key:
    """Return the parts of an error's location that exist in the value. The others name union members."""
    kept: list[int | str] = []
    for part in loc:
        is_item = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if is_item or (isinstance(value, dict) and part in value):
            value = value[part]
            kept.append(part)
    return tuple(kept)


def _reason(form: type[BaseModel], fault: Any, text: str | None) -> str:
    message = str(fault["msg"])
    if fault["type"] == "missing":
        return "the key is missing"
    if fault["type"] == "extra_forbidden":
        return f"there is no such key{_hint(str(fault['loc'][-1]), sorted(known_keys(form, fault['loc'][:-1])))}"
    if fault["type"] == "string_type" and fault["input"] is None:
        return "must be a text, and is empty"
    if fault["type"] == "string_type":
        return f"must be a text; write {(text or str(fault['input']))!r:.60} in quotes"
    if fault["type"] == "too_short" and not fault["input"]:
        return "is empty; give at least one"
    return message[:1].lower() + message[1:]


def _hint(key: str, known: Sequence[str]) -> str:
    if not known:
        return ""
    close = closest(key, known)
    return f"; did you mean {close!r}?" if close else f"; the keys are {', '.join(known)}"


def _text(path: Path) -> str:
    text = read_text(path)
    if len(text) > LARGEST:
        raise DataError(f"{path}: has more than {LARGEST:,} characters, which is too much to read")
    return text


def _json(text: str) -> Any:
    value = json_decoder(unique=True).decode(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


# PyYAML's parser in C takes about a fifth of the time (3 MB of tools: 2 s instead of 10 s of processor time)
# and limits the depth of a text.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # either is a loader
    """Loads plain YAML values as their source text, which is then read by the rules of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class has it


TEXT = "tag:yaml.org,2002:str"
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")
NUMBER = re.compile(r"[-+]?(?:\.[0-9]{1,30}|(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{0,30})?)(?:[eE][-+]?[0-9]{1,3})?")
"""Numbers in plain words. Words with leading zeros, such as article numbers, are texts."""

CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


class _Builder:
    def __init__(self, located: Located) -> None:
        self._name = located.name
        self._lines = located.lines
        self._texts = located.texts
        self._count = 0

    def build(self, node: yaml.Node, key: Key) -> Any:
        self._count += 1
        line = node.start_mark.line + 1
        if self._count > MOST_NODES or len(key) > DEEPEST:
            raise DataError(f"{self._name}:{line}: the file expands to more than can be read")
        self._lines.setdefault(key, line)
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, key))
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*key, number)) for number, item in enumerate(node.value)]
        return self._scalar(node, key, line)

    def _pairs(self, node: yaml.MappingNode, key: Key) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for name_node, value in node.value:
            line = name_node.start_mark.line + 1
            if not isinstance(name_node, yaml.ScalarNode):
                raise DataError(f"{self._name}:{line}: a key must be text")
            name = name_node.value
            if name in seen:
                raise DataError(f"{self._name}:{line}: {name}: the key occurs twice")
            seen.add(name)
            self._lines[(*key, name)] = line
            yield name, self.build(value, (*key, name))

    def _scalar(self, node: yaml.Node, key: Key, line: int) -> Any:
        text = str(node.value)
        if node.tag != TEXT:
            raise DataError(f"{self._name}:{line}: {node.tag!r:.60}: values have no tags here")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{self._name}:{line}: {error.reason}") from error
        value = text if getattr(node, "style", None) else plain_value(text)
        if not isinstance(value, str):
            self._texts[key] = text
        return value


def plain_value(text: str) -> Any:
    """Return the value of an unquoted word, which is a truth value, None, a number or a text."""
    if text.lower() in CONSTANTS and text in (text.lower(), text.capitalize(), text.upper()):
        return CONSTANTS[text.lower()]
    if INTEGER.fullmatch(text):
        return int(text)
    if NUMBER.fullmatch(text) and isfinite(number := float(text)):
        return number
    return text


def known_keys(form: type[BaseModel], place: Iterable[int | str]) -> set[str]:
    """Return the possible keys of an object at a place in a form.

    Args:
        place: a location as pydantic reports it, from the outside in: keys, list indexes and names of union members.
    """
    forms = [form]
    for part in place:
        inner = [info.annotation for one in forms if (info := _fields(one).get(str(part)))]
        named = [one for one in forms if one.__name__ == part]
        forms = [found for annotation in inner for found in _forms(annotation)] if inner else named or forms
    return {key for one in forms for key in _fields(one)}


def _fields(form: type[BaseModel]) -> dict[str, Any]:
    return {info.alias or name: info for name, info in form.model_fields.items()}


def _forms(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _forms(inner)
