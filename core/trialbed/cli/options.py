"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
"""Types of options: a file or a folder that need not be there."""


class Finite(click.types.FloatParamType):
    """A finite number, as requests cannot hold ``nan`` and infinities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """A finite number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType[float], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    number = float(value)
    if not math.isfinite(number):
        kind.fail(f"{value} is not a finite number.", param, ctx)
    return number


Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


def option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """A click option that can also be set by ``TRIALBED_<NAME>`` and shows its default in the help."""
    return click.option(*names, **_settable(names, settings))


def make_option(*names: str, **settings: Any) -> click.Option:
    """As ``option``, for a command that is put together from options of several parts."""
    return click.Option(names, **_settable(names, settings))


def _settable(names: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    long = next(name for name in names if name.startswith("--"))
    variable = f"TRIALBED_{long[2:].split('/')[0].replace('-', '_').upper()}"
    return {"envvar": variable, "show_default": settings.get("default") is not None, **settings}


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
