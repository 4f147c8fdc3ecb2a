"""Make the options of a run's settings from their declarations; some accept a plugin in a file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FOLDER, Decorated, FiniteRange, LineType, Numbers, option
from trialbed.settings import Declared, declared_settings

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
        help="File with hooks, such as a scorer, to use with the installed plugins; repeatable.",
    )(command)


def setting_option(name: str) -> Callable[[Decorated], Decorated]:
    """Return the option of a run's setting by its declaration in ``RunSettings``."""
    declared = next(item for item in declared_settings() if item.name == name)
    several, text = declared.repeatable, declared.setting.help
    sentence, _, rest = text.partition(".")
    return option(
        *declared.setting.option,
        declared.name,
        type=_type(declared),
        is_flag=declared.kind is bool,
        multiple=several,
        default=declared.default,
        # Each text may have several values.
        callback=(lambda _, __, values: (*chain(*values),)) if declared.name == "max_tools" else None,
        metavar=declared.setting.metavar,
        help=text if not several or "repeatable" in text else f"{sentence}; repeatable.{rest}",
    )


def setting_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Give a command the options of settings of a run, of all if none is named."""

    def decorate(command: Decorated) -> Decorated:
        for name in reversed(names or [declared.name for declared in declared_settings()]):
            command = setting_option(name)(command)
        return command

    return decorate


def _type(declared: Declared) -> click.ParamType[Any]:
    if declared.name in ("commands", "mcp"):
        return LineType()
    if declared.name in KINDS:
        return DriverOrFile(KINDS[declared.name])
    if declared.name == "max_tools":
        return Numbers()
    if declared.kind is bool:
        return click.BOOL
    if declared.kind is int:
        return click.INT if declared.minimum is None else click.IntRange(min=int(declared.minimum))
    if declared.kind is float:
        least = declared.above if declared.minimum is None else declared.minimum
        return FiniteRange(
            min=least, min_open=declared.above is not None, max=declared.below, max_open=declared.below is not None
        )
    if declared.kind is Path:
        return FOLDER if declared.setting.folder else click.Path(path_type=Path)
    return click.Choice(declared.setting.choices) if declared.setting.choices else click.STRING


data_dir_option = setting_option("data_dir")
base_url_option = setting_option("base_url")
api_key_env_option = setting_option("api_key_env")
response_cache_option = option(
    "--response-cache",
    metavar="FILE|URL",
    help="The virtual API's cache of responses, a file or a database. [default: .trialbed/responses.db]",
)
model_retries_option = setting_option("model_retries")
endpoint_patience_option = setting_option("endpoint_patience")
