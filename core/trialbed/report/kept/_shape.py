"""The fields of the records that are kept, by which those of another Trialbed are recognised."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from trialbed.records import Record


@cache
def shape(kind: Any) -> str:
    """Return the fields of a type and of all types in it as text, which is another where any of them is another."""
    if parts := get_args(kind):
        return f"{get_origin(kind)}[{', '.join(map(shape, parts))}]"
    if isinstance(kind, type) and issubclass(kind, Record):
        own: dict[str, Any] = {name: field.annotation for name, field in kind.model_fields.items()}
    elif is_dataclass(kind):
        hints = get_type_hints(kind)
        own = {item.name: hints[item.name] for item in fields(kind)}
    else:
        return repr(kind)
    return f"{kind}({', '.join(f'{name}: {shape(one)}' for name, one in own.items())})"
