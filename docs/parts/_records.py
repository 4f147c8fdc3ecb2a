"""The fields of the records that plugins are given and return."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from parts._markdown import escaped, table

MODULES = ("trialbed", "trialbed.contracts", "trialbed.views")
"""Modules whose records are described; a name that several have is the same."""

LISTED = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*)")
BLOCK = re.compile(r"^(Attributes|Args):$")

CHECKED = "Annotated["
"""Begins the type of a field that is also checked in another way."""

MADE_ANEW = "made anew"
"""The default that a function makes for each record."""


@dataclasses.dataclass(frozen=True)
class DescribedField:
    """A field of a record, in words.

    Attributes:
        type: as its source has it.
        default: its source; None where the field must be given.
        meaning: from the docstring; empty where it says nothing.
    """

    name: str
    type: str
    default: str | None
    meaning: str


@dataclasses.dataclass(frozen=True)
class DescribedRecord:
    """A record, in words.

    Attributes:
        meaning: the first paragraph of its docstring.
    """

    name: str
    meaning: str
    fields: tuple[DescribedField, ...]


def describe_records() -> dict[str, DescribedRecord]:
    """Describe every public record that has fields, by its name, sorted."""
    modules = [import_module(name) for name in MODULES]
    items = (getattr(module, name) for module in modules for name in module.__all__)
    found = {item.__name__: item for item in items if _is_record(item)}
    described = {name: _describe(item) for name, item in sorted(found.items())}
    return {name: record for name, record in described.items() if record.fields}


def _is_record(item: Any) -> bool:
    return inspect.isclass(item) and (issubclass(item, BaseModel) or dataclasses.is_dataclass(item))


def _describe(item: type) -> DescribedRecord:
    meanings = dict(_meanings(item))
    fields = (
        DescribedField(name, _annotation(item, name), default, _plain(meanings.get(name, "")))
        for name, default in _defaults(item)
    )
    meaning = (inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ")
    return DescribedRecord(item.__name__, _plain(meaning), tuple(fields))


def _plain(text: str) -> str:
    return text.replace("``", "`")


def _defaults(item: type) -> Iterator[tuple[str, str | None]]:
    """Yield name and default of each field."""
    if issubclass(item, BaseModel):
        for name, field in item.model_fields.items():
            missing = field.is_required()
            yield name, None if missing else _default_text(field.default, field.default_factory, PydanticUndefined)
    else:
        for entry in dataclasses.fields(item):  # type: ignore[arg-type] # it is a dataclass
            if entry.init and not entry.name.startswith("_"):
                yield entry.name, _default_text(entry.default, entry.default_factory, dataclasses.MISSING)


def _default_text(value: Any, factory: Any, missing: Any) -> str | None:
    if factory is not None and factory is not missing:
        return "{}" if factory is dict else "()" if factory is tuple else MADE_ANEW
    return None if value is missing else repr(value)


def _annotation(item: type, name: str) -> str:
    """Return the type of a field as its source has it, without what only checks it."""
    found = next(kind.__annotations__[name] for kind in item.__mro__ if name in vars(kind).get("__annotations__", {}))
    text = found if isinstance(found, str) else inspect.formatannotation(found)
    plain = " ".join(text.split())
    return plain.removeprefix(CHECKED).partition(",")[0] if plain.startswith(CHECKED) else plain


def _meanings(item: type) -> Iterator[tuple[str, str]]:
    """Yield each field that a docstring explains, with the explanation; that of a subclass comes last."""
    for kind in reversed(item.__mro__):
        names: list[str] = []
        text, is_inside = "", False
        for line in [*inspect.cleandoc(vars(kind).get("__doc__") or "").splitlines(), ""]:
            listed = LISTED.match(line) if is_inside else None
            if listed or not line.startswith("     "):
                yield from ((name, text) for name in names)
                names, text = (listed["names"].split(", "), listed["text"]) if listed else ([], "")
            else:
                text += f" {line.strip()}"
            if line and not line.startswith(" "):
                is_inside = bool(BLOCK.match(line))


def record_fields() -> str:
    """Every record with its fields, by name."""
    return "\n\n".join(map(_record, describe_records().values()))


def _record(record: DescribedRecord) -> str:
    rows = [(f"`{field.name}`", f"`{field.type}`", _default(field), field.meaning) for field in record.fields]
    shown = table(("field", "type", "default", "meaning"), [tuple(map(escaped, row)) for row in rows])
    return "\n".join([f"### {record.name}", "", escaped(record.meaning), "", shown])


def _default(field: DescribedField) -> str:
    return field.default if field.default == MADE_ANEW else f"`{field.default}`" if field.default is not None else ""
