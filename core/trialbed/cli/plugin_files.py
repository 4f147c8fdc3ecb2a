"""Options that accept a plugin in a file: ``./judge.py:Mine``."""

from __future__ import annotations

from typing import Any

import click

from trialbed.cli.options import Decorated, option

KINDS = {name: f"{name.removesuffix('s')}s" for name in ("frameworks", "dataset", "judge", "selector", "executor")}
"""Setting of a run -> the kind of driver that it names."""


class DriverOrFile(click.types.StringParamType):
    """The name of a driver, or one in a file, which is made known under its own name.

    Args:
        kind: of driver, or ``plugins``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name that the driver goes by."""
        from trialbed.installed import PLUGINS
        from trialbed.plugin_files import check_class, file_command, names_file, use_file

        text = super().convert(value, param, ctx)
        if ctx is not None and ctx.resilient_parsing:
            return text
        if self.kind == "frameworks" and file_command(text) is not None:
            return text
        if names_file(self.kind, text):
            file = use_file(self.kind, text)
            return f"{file.name}{file.rest}"
        if self.kind == PLUGINS:
            self.fail(f"{text!r} is not a Python file; an installed plugin is used without being named.", param, ctx)
        check_class(self.kind, text)
        return text


def plugin_option(command: Decorated) -> Decorated:
    """Return the option for plugins that are files."""
    return option(
        "--plugin",
        "plugins",
        type=DriverOrFile("plugins"),
        multiple=True,
        metavar="FILE.py",
        expose_value=False,
        help="File with hooks, such as a scorer, used beside the installed plugins; repeatable.",
    )(command)
