"""Finds the keys that a form has at a place, to suggest one for a wrong key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel


def known_keys(form: type[BaseModel], place: Iterable[int | str]) -> set[str]:
    """Return the keys that an object at this place of a form may have.

    Args:
        place: as pydantic has it: keys and places in lists from the outside in, and names of members of unions.
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
    """Yield the forms that a type mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _forms(inner)
