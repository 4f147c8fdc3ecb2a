"""The fields of the records that plugins are given and return."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import trialbed
from parts._markdown import escaped, first_paragraph, table
from trialbed import contracts, views

MODULES = (trialbed, contracts, views)
"""Modules whose records are shown; a name that several have is the same."""

LISTED = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*)")
BLOCK = re.compile(r"^(Attributes|Args):$")


def record_fields() -> str:
    """Every record with its fields, by name."""
    found = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    records = sorted((item.__name__, item) for item in found.values() if _is_record(item))
    return "\n\n".join(_record(item) for _, item in dict(records).items())


def _is_record(item: Any) -> bool:
    has_fields = inspect.isclass(item) and (issubclass(item, BaseModel) or dataclasses.is_dataclass(item))
    return has_fields and any(_fields(item))


def _record(item: type) -> str:
    meanings = dict(_meanings(item))
    rows = [(f"`{name}`", f"`{kind}`", default, meanings.get(name, "")) for name, kind, default in _fields(item)]
    cells = [tuple(escaped(text.replace("``", "`")) for text in row) for row in rows]
    shown = table(("field", "type", "default", "meaning"), cells)
    return "\n".join([f"### {item.__name__}", "", first_paragraph(item), "", shown])


def _fields(item: type) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and default of each field; the default is empty where it must be given."""
    if issubclass(item, BaseModel):
        for name, field in item.model_fields.items():
            default = "" if field.is_required() else _default(field.default, field.default_factory, PydanticUndefined)
            yield name, _annotation(item, name), default
    else:
        for field in dataclasses.fields(item):
            if field.init and not field.name.startswith("_"):
                default = _default(field.default, field.default_factory, dataclasses.MISSING)
                yield field.name, _annotation(item, field.name), default


def _default(value: Any, factory: Any, missing: Any) -> str:
    if factory is not None and factory is not missing:
        return "`{}`" if factory is dict else "`()`" if factory is tuple else "made anew"
    return "" if value is missing else f"`{value!r}`"


def _annotation(item: type, name: str) -> str:
    """Return the type of a field as its source has it, without what only checks it."""
    found = next(kind.__annotations__[name] for kind in item.__mro__ if name in vars(kind).get("__annotations__", {}))
    text = found if isinstance(found, str) else inspect.formatannotation(found)
    return re.sub(r"^Annotated\[(.*?),.*\]$", r"\1", " ".join(text.split()))


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
