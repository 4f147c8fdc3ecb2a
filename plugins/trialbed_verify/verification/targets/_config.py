"""Reads a configuration file: models and the vendors that serve them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed_verify.verification.targets._entry_values import FIELDS


@dataclass(frozen=True)
class VendorEntry:
    """A vendor of a model, as in the file.

    Attributes:
        model: the unified name.
        key_line: the line of ``api_key``, if there is one.
        where: file and line of the entry, for messages.
        lines: the line of each key.
        prices: ``input`` and ``output``, per million tokens.
    """

    model: str
    name: str
    where: str
    model_id: str | None = None
    api_key: str | None = None
    key_line: int | None = None
    provider: str | None = None
    url: str | None = None
    validator: str = "openai"
    is_baseline: bool = False
    trials: int | None = None
    concurrency: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stream: bool | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)


def read_config(path: Path) -> list[VendorEntry]:
    """The entries of a file, in order.

    Raises:
        DataError: the file cannot be read or has the wrong form.
    """
    root = _root(path)
    entries = [entry for model, body in _pairs(path, root) for entry in _vendors(path, model.value, body)]
    if not entries:
        raise DataError(f"{path}: names no vendors; each model needs a list under `vendors:`")
    _check_names(entries)
    return entries


LARGEST = 16 * 2**20
"""Bytes of a file with vendors."""


def _root(path: Path) -> yaml.MappingNode:
    try:
        node = yaml.compose(read_bytes(path, LARGEST).decode(), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not valid YAML: {_without_content(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return _mapping(path, node, "the file")


def _without_content(error: yaml.YAMLError) -> str:
    """The problem and its line, without the text around it, which may be a key."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "malformed"
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


def _vendors(path: Path, model: str, body: yaml.Node) -> Iterator[VendorEntry]:
    fields = {key.value: value for key, value in _pairs(path, _mapping(path, body, model))}
    listed = fields.get("vendors")
    if not isinstance(listed, yaml.SequenceNode):
        raise DataError(f"{_where(path, body)}: {model}: needs a list under `vendors:`")
    for node in listed.value:
        yield _entry(path, model, _mapping(path, node, f"a vendor of {model}"))


def _entry(path: Path, model: str, node: yaml.MappingNode) -> VendorEntry:
    lines: dict[str, int] = {}
    values: dict[str, Any] = {"model": model, "where": _where(path, node), "lines": lines}
    for key, value in _pairs(path, node):
        if key.value not in FIELDS:
            raise DataError(f"{_where(path, key)}: unknown key {key.value!r}; choose from {', '.join(FIELDS)}")
        if key.value in lines:
            raise DataError(f"{_where(path, key)}: {key.value} is given twice (first: line {lines[key.value]})")
        lines[key.value] = key.start_mark.line + 1
        values[key.value] = _value(path, key, value)
    values["key_line"] = lines.get("api_key")
    if not values.get("name"):
        raise DataError(f"{_where(path, node)}: a vendor of {model} has no name")
    return VendorEntry(**{key: value for key, value in values.items() if value is not None})


def _value(path: Path, key: yaml.ScalarNode, node: yaml.Node) -> Any:
    try:
        value = yaml.SafeLoader("").construct_object(node, deep=True)
    except yaml.YAMLError as error:
        raise DataError(f"{_where(path, node)}: {key.value}: {getattr(error, 'problem', 'malformed')}") from None
    if value is None:
        return None
    try:
        return FIELDS[key.value].check(value)
    except ValueError as error:
        # The value is not shown, as it may be a key.
        raise DataError(f"{_where(path, node)}: {key.value} must be {error}") from None


def _check_names(entries: list[VendorEntry]) -> None:
    seen: dict[tuple[str, str, str | None], VendorEntry] = {}
    for entry in entries:
        identity = (entry.model, entry.name, entry.provider)
        if identity in seen:
            raise DataError(
                f"{entry.where}: {entry.model} at {entry.name} is listed twice (first: {seen[identity].where})"
            )
        seen[identity] = entry
    for model in dict.fromkeys(entry.model for entry in entries):
        baselines = [entry.where for entry in entries if entry.model == model and entry.is_baseline]
        if len(baselines) > 1:
            raise DataError(f"{model}: {len(baselines)} vendors are marked as its baseline: {', '.join(baselines)}")


def _mapping(path: Path, node: yaml.Node | None, what: str) -> yaml.MappingNode:
    if not isinstance(node, yaml.MappingNode):
        where = _where(path, node) if node is not None else str(path)
        raise DataError(f"{where}: {what} must be a mapping")
    return node


def _pairs(path: Path, node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise DataError(f"{_where(path, key)}: a key must be a string")
        yield key, value


def _where(path: Path, node: yaml.Node) -> str:
    return f"{path}, line {node.start_mark.line + 1}"
