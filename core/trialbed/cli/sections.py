"""Help that shows a command's options under headings, the most used options first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

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
