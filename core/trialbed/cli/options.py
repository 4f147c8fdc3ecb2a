"""Options that several commands share, and help that shows them under headings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

import click

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
"""Option types of a file and a folder, which need not exist."""


class LineType(click.types.StringParamType):
    """A text that may have spaces. In a variable, each line is one text."""

    envvar_list_splitter = "\n"


class Finite(click.types.FloatParamType):
    """A finite number, as requests cannot hold ``nan`` and infinities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class FiniteRange(click.FloatRange, Finite):
    """A finite number within bounds."""


class Numbers(click.ParamType[Any]):
    """Numbers from 1 on, separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the numbers, each once, ascending."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = sorted({int(part) for part in str(value).split(",")})
        except ValueError:
            numbers = []
        if not numbers or numbers[0] < 1:
            self.fail(f"{value!r} is not a number from 1 on, or several, such as 5,20,120.", param, ctx)
        return tuple(numbers)


Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


def option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return a click option that can also be set by ``TRIALBED_<NAME>`` and shows its default in the help."""
    return click.option(*names, **_settable(names, settings))


def make_option(*names: str, **settings: Any) -> click.Option:
    """As ``option``, for a command that is put together from options of several parts."""
    return click.Option(names, **_settable(names, settings))


def _settable(names: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    long = next(name for name in names if name.startswith("--"))
    variable = f"TRIALBED_{long[2:].split('/')[0].replace('-', '_').upper()}"
    return {"envvar": variable, "show_default": settings.get("default") is not None, **settings}


def plain_option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return a click option without an environment variable."""
    return click.option(*names, **settings)


json_option = plain_option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")


def print_json(value: Any) -> None:
    """Write a result on stdout, as ``json_text`` gives it."""
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    """Return a result as indented JSON that cannot control a terminal; numbers that JSON lacks are null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False, indent=2)
    return escape_controls(text)


def escape_controls(text: str) -> str:
    """Return JSON with escapes for the characters that would control a terminal; lines stay lines."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)


FIRST = "Options"
"""The heading of the options that stand under no other."""


class SectionedCommand(click.Command):
    """A command that shows its options in sections.

    Args:
        sections: heading -> the names of the parameters below it, in the order of the help. Options that are in none
            come first.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._sections = sections

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does and one example, then the options, and the details last."""
        summary, _, details = cleandoc(self.help or "").partition("\n\n")
        example = re.findall("bench .+", self.epilog or "")[:1]
        self.format_usage(ctx, formatter)
        click.Command(None, help="\n\n\b\nExample: ".join([summary, *example])).format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        click.Command(None, help=details).format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each section under its heading."""
        for title, options in self.sections(ctx):
            rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def sections(self, ctx: click.Context) -> list[tuple[str, Sequence[click.Option]]]:
        """Return the options under their headings."""
        options = {
            str(parameter.name): parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)
        }
        below = {title: [options[name] for name in names] for title, names in self._sections.items()}
        named = {name for names in self._sections.values() for name in names}
        first = [option for name, option in options.items() if name not in named]
        return [(FIRST, first), *below.items()]
