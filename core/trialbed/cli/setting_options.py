"""The options of a run's settings, as they are declared.

Apart from the other shared options: reading the declarations takes longer than ``bench --help`` may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli import completion
from trialbed.cli.options import FOLDER, Decorated, FiniteRange, Line, NumberOrNumbers, option
from trialbed.run_settings import Declared, declared_settings

COMPLETIONS = {
    "frameworks": completion.completes(completion.frameworks),
    "dataset": completion.completes(completion.datasets),
    "against": completion.completes(completion.frameworks),
    "profiles": completion.completes(completion.profiles),
    "tags": completion.completes(completion.tags),
    "model": completion.completes(completion.models),
    "selector": completion.completes(completion.drivers("selectors")),
    "judge": completion.completes(completion.judges),
    "executor": completion.completes(completion.drivers("executors")),
}
"""Setting -> what completes its value in the shell."""


def setting_option(name: str) -> Callable[[Decorated], Decorated]:
    """The option of a setting of a run, as ``RunSettings`` declares it."""
    declared = next(item for item in declared_settings() if item.name == name)
    return option(
        *declared.setting.option,
        declared.name,
        type=_type(declared),
        multiple=declared.repeatable,
        default=declared.default,
        metavar=declared.setting.metavar,
        help=declared.setting.help,
        shell_complete=COMPLETIONS.get(declared.name),
    )


def option_list(names: Sequence[str]) -> list[click.Option]:
    """The options of these settings, for a command that is put together from options of several parts."""
    holder = click.Command("holder")
    for name in names:
        setting_option(name)(holder)
    return [parameter for parameter in holder.params if isinstance(parameter, click.Option)]


def setting_options(command: Decorated) -> Decorated:
    """Gives a command the options of all settings of a run."""
    for declared in reversed(declared_settings()):
        command = setting_option(declared.name)(command)
    return command


def _type(declared: Declared) -> click.ParamType[Any]:
    if declared.name == "commands":
        return Line()
    if declared.name == "max_tools":
        return NumberOrNumbers()
    if declared.kind is int:
        return click.INT if declared.minimum is None else click.IntRange(min=int(declared.minimum))
    if declared.kind is float:
        least = declared.above if declared.minimum is None else declared.minimum
        return FiniteRange(min=least, min_open=declared.above is not None)
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
