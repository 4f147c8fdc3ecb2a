"""Read a configuration file with models and their vendors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from trialbed.errors import DataError
from trialbed.files import read_bytes


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError
    return text


Line = Annotated[str, AfterValidator(_printable)]
Amount = Annotated[float, Field(ge=0)]
Count = Annotated[int | None, Field(ge=1, description="a whole number of at least 1")]
EXTRA = "a mapping of what JSON can hold, with strings as keys"
HEADER_NAME = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
HEADERS = "a mapping of header names to strings of one line"
PRICES = "a mapping with input and output: numbers of at least 0, per million tokens"


class VendorEntry(BaseModel):
    """A vendor of a model, as in the file; the description of a field has its values in words.

    Attributes:
        model: the unified name.
        where, lines: file and line of the entry, and the line of each key, for messages.
    """

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    name: str
    model_id: str | None = None
    api_key: str | None = None
    provider: str | None = None
    url: str | None = None
    validator: Annotated[Literal["openai"], Field(description="one of openai")] = "openai"
    is_baseline: Annotated[bool, Field(description="true or false")] = False
    trials: Count = None
    concurrency: Count = None
    temperature: Annotated[float | None, Field(ge=0, description="a number of at least 0")] = None
    max_tokens: Count = None
    stream: Annotated[bool | None, Field(description="true or false")] = None
    extra_body: dict[str, JsonValue] = Field(default_factory=dict, description=EXTRA)
    headers: dict[Annotated[str, Field(pattern=HEADER_NAME)], Line] = Field(default_factory=dict, description=HEADERS)
    prices: dict[Literal["input", "output"], Amount] = Field(default_factory=dict, min_length=1, description=PRICES)
    model: str
    where: str
    lines: dict[str, int]


KEYS = [name for name in VendorEntry.model_fields if name not in ("model", "where", "lines")]


def read_config(path: Path) -> list[VendorEntry]:
    """The entries of a file, in order."""
    try:
        root = yaml.compose(read_bytes(path, most=16 * 2**20).decode(), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        # The text around the problem is not shown because it may be a key.
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "malformed"
        where = f"line {mark.line + 1}: " if mark else ""
        raise DataError(f"{path}: not valid YAML: {where}{problem}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    entries: list[VendorEntry] = []
    for key, body in _pairs(path, root, "the file"):
        beside = {name.value: value for name, value in _pairs(path, body, key.value)}
        vendors = beside.get("vendors")
        for name in beside.keys() & set(KEYS):
            raise DataError(f"{_where(path, beside[name])}: {name} is next to `vendors:`; write it into each vendor")
        if not isinstance(vendors, yaml.SequenceNode):
            raise DataError(f"{_where(path, body)}: {key.value}: needs a list under `vendors:`")
        entries += (_entry(path, key.value, node) for node in vendors.value)
    if not entries:
        raise DataError(f"{path}: names no vendors; each model needs a list under `vendors:`")
    _check_names(entries)
    return entries


def _entry(path: Path, model: str, node: yaml.Node) -> VendorEntry:
    lines, values = dict[str, int](), dict[str, Any]()
    for key, value in _pairs(path, node, f"a vendor of {model}"):
        name = key.value
        if name not in KEYS:
            raise DataError(f"{_where(path, key)}: unknown key {name!r}; choose from {', '.join(KEYS)}")
        if name in lines:
            raise DataError(f"{_where(path, key)}: {name} is given twice (first: line {lines[name]})")
        lines[name] = key.start_mark.line + 1
        try:
            values[name] = yaml.SafeLoader("").construct_object(value, deep=True)
        except yaml.YAMLError as error:
            raise DataError(f"{_where(path, value)}: {name}: {getattr(error, 'problem', 'malformed')}") from None
    if not values.get("name"):
        raise DataError(f"{_where(path, node)}: a vendor of {model} has no name")
    values = {name: value for name, value in values.items() if value is not None}
    try:
        return VendorEntry(**values, model=model, where=_where(path, node), lines=lines)
    except ValidationError as error:
        # The value is not shown because it may be a key.
        name = str(error.errors(include_input=False, include_url=False)[0]["loc"][0])
        words = VendorEntry.model_fields[name].description or "a string"
        raise DataError(f"{path}, line {lines[name]}: {name} must be {words}") from None


def _check_names(entries: list[VendorEntry]) -> None:
    seen: dict[tuple[object, ...], VendorEntry] = {}
    for entry in entries:
        first = seen.setdefault((entry.model, entry.name, entry.provider), entry)
        if first is not entry:
            raise DataError(f"{entry.where}: {entry.model} at {entry.name} is listed twice (first: {first.where})")
    for model in dict.fromkeys(entry.model for entry in entries):
        baselines = [entry.where for entry in entries if entry.model == model and entry.is_baseline]
        if len(baselines) > 1:
            raise DataError(f"{model}: {len(baselines)} vendors are marked as its baseline: {', '.join(baselines)}")


def _pairs(path: Path, node: yaml.Node | None, what: str) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise DataError(f"{path if node is None else _where(path, node)}: {what} must be a mapping")
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise DataError(f"{_where(path, key)}: a key must be a string")
        yield key, value


def _where(path: Path, node: yaml.Node) -> str:
    return f"{path}, line {node.start_mark.line + 1}"
