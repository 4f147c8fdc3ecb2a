"""The options of a run's settings, as they are declared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trialbed.cli import completion
from trialbed.cli.options import (
    FOLDER,
    Decorated,
    FiniteRange,
    LineType,
    NumberOrNumbers,
    option,
)
from trialbed.cli.plugin_files import KINDS, DriverOrFile
from trialbed.settings import Declared, declared_settings

COMPLETIONS = {
    "frameworks": completion.completes(completion.frameworks),
    "dataset": completion.completes(completion.datasets),
    "against": completion.completes(completion.frameworks),
    "profiles": completion.completes(completion.profiles),
    "tags": completion.completes(completion.tags),
    "model": completion.completes(completion.models),
    "selector": completion.completes(completion.drivers("selectors")),
    "judge": completion.completes(completion.judges),
    "catalog": completion.completes(completion.datasets, files=True),
    "store": completion.completes(list, files=True),
    "executor": completion.completes(completion.drivers("executors")),
}
"""Setting -> what completes its value in the shell."""


FACTORS = {"model": "models", "temperature": "temperatures", "max_tools": "tool_limits", "judge": "judges"}
"""The settings of which a run can have several, as factors -> the option of a run that then has them, as a tuple."""


def _one_or_several(_context: click.Context, _option: click.Parameter, values: tuple[Any, ...]) -> Any:
    """The value, the values, or None without any; a value may be several in one text."""
    each = tuple(one for value in values for one in (value if isinstance(value, tuple) else (value,)))
    return (each[0] if each else None) if len(each) < 2 else each


def setting_option(name: str, *, several: bool = False) -> Callable[[Decorated], Decorated]:
    """The option of a setting of a run, as ``RunSettings`` declares it.

    Args:
        several: whether a run can have several values of it.
    """
    declared = next(item for item in declared_settings() if item.name == name)
    return option(
        *declared.setting.option,
        declared.name,
        type=_type(declared),
        is_flag=declared.kind is bool,
        multiple=declared.repeatable or several,
        default=[declared.default] if several and declared.default is not None else declared.default,
        callback=_one_or_several if several else None,
        metavar=declared.setting.metavar,
        help=_several_help(declared.setting.help) if several else declared.setting.help,
        shell_complete=COMPLETIONS.get(declared.name),
    )


def _several_help(text: str) -> str:
    sentence, _, rest = text.partition(".")
    return text if "repeatable" in sentence else f"{sentence}; repeatable.{rest}"


def setting_options(command: Decorated) -> Decorated:
    """Gives a command the options of all settings of a run."""
    for declared in reversed(declared_settings()):
        command = setting_option(declared.name, several=declared.name in FACTORS)(command)
    return command


def _type(declared: Declared) -> click.ParamType[Any]:
    if declared.name in ("commands", "mcp"):
        return LineType()
    if declared.name in KINDS:
        return DriverOrFile(KINDS[declared.name])
    if declared.name == "max_tools":
        return NumberOrNumbers()
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
