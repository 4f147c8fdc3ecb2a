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
    """A number; ``nan`` and infinities are none, as no request can hold them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


class FiniteRange(click.FloatRange):
    """A number within bounds; ``nan`` is within none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        return _finite(self, super().convert(value, param, ctx), param, ctx)


def _finite(
    kind: click.ParamType[float], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> float:
    number = float(value)
    if not math.isfinite(number):
        kind.fail(f"{value} is no finite number.", param, ctx)
    return number


Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


def option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """A click option that can also be set by ``TRIALBED_<NAME>`` and shows its default in the help."""
    long = next(name for name in names if name.startswith("--"))
    variable = f"TRIALBED_{long[2:].split('/')[0].replace('-', '_').upper()}"
    settings.setdefault("envvar", variable)
    settings.setdefault("show_default", settings.get("default") is not None)
    return click.option(*names, **settings)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")

data_dir_option = option(
    "--data-dir",
    type=FOLDER,
    help="Folder of imported datasets. [default: the user's cache folder]",
)

base_url_option = option("--base-url", metavar="URL", help="OpenAI-compatible endpoint of real models, ending in /v1.")

api_key_env_option = option(
    "--api-key-env",
    metavar="VARIABLE",
    default="OPENAI_API_KEY",
    help="Environment variable (or line of .env) that holds the endpoint's key.",
)

response_cache_option = option(
    "--response-cache",
    type=click.Path(path_type=Path),
    help="The virtual API's cache of responses. [default: .trialbed/responses.db]",
)
