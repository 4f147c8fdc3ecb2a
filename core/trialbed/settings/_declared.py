"""The declared settings of a run, as options, settings files and result documents read them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Lt

from trialbed.settings._identity import FactorSettings, IdentitySettings, Setting
from trialbed.settings._run import RunSettings


@dataclass(frozen=True)
class Declared:
    """A declared setting, described by its field.

    Attributes:
        name: the field's name.
        kind: the type of a value: ``str``, ``int``, ``float``, ``bool`` or ``Path``.
        optional: whether it may be None.
        repeatable: whether it is a tuple of such values.
        minimum: the least value; None for no bound.
        above: the value that it must exceed; None for no bound.
        below: the value that it must fall short of; None for no bound.
        default: None also if it is only known when a run is asked for, such as a folder's.
        usual: its value in a column of a run that says nothing of it: the first of several.
        identity: whether it is part of a run's identity.
    """

    name: str
    setting: Setting
    kind: type
    optional: bool
    repeatable: bool
    minimum: float | None
    above: float | None
    below: float | None
    default: Any
    usual: Any
    identity: bool

    @property
    def key(self) -> str:
        """Return its key in a settings file, which is the long option without dashes."""
        return self.setting.option[-1].removeprefix("--")

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return f"TRIALBED_{self.key.replace('-', '_').upper()}"

    @property
    def document(self) -> str | None:
        """Return its key in a result document's ``metadata``, or None."""
        if not self.identity or self.setting.document == "":
            return None
        return self.setting.document or self.name


@cache
def declared_settings() -> tuple[Declared, ...]:
    """Return every setting, in the order of declaration."""
    hints = get_type_hints(RunSettings, include_extras=True)
    identity = {item.name for part in (FactorSettings, IdentitySettings) for item in fields(part)}
    return tuple(
        _declared(item.name, hints[item.name], None if item.default is MISSING else item.default, item.name in identity)
        for item in fields(RunSettings)
    )


def _declared(name: str, hint: Any, default: Any, identity: bool) -> Declared:
    inner, *marks = get_args(hint)
    setting = next(mark for mark in marks if isinstance(mark, Setting))
    optional = get_origin(inner) is UnionType
    repeatable = get_origin(inner) is tuple
    kind = next(part for part in get_args(inner) if part is not NoneType) if optional or repeatable else inner
    if get_origin(kind) is Annotated:  # each value of a tuple has bounds
        kind, *bounds = get_args(kind)
        marks += bounds
    minimum: Any = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
    above: Any = next((mark.gt for mark in marks if isinstance(mark, Gt)), None)
    below: Any = next((mark.lt for mark in marks if isinstance(mark, Lt)), None)
    several = name in FactorSettings.__dataclass_fields__
    usual = next(iter(default), None) if several else default
    return Declared(name, setting, kind, optional, repeatable, minimum, above, below, default, usual, identity)
