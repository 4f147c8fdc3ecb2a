"""Frameworks that cannot run in this interpreter: their options, and the environments that they run in instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli._options import option

if TYPE_CHECKING:
    from trialbed.records import Environment

yes_option = option("-y", "--yes", is_flag=True, help="Build missing environments without asking.")

env_dir_option = option(
    "--env-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of frameworks' own environments. [default: the user's cache folder]",
)


def chosen_environments(
    labels: Sequence[str],
    *,
    yes: bool,  # noqa: ARG001 - not used yet
    env_dir: Path | None = None,  # noqa: ARG001 - not used yet
) -> dict[str, Environment]:
    """The environments of the frameworks that cannot run in this interpreter; builds missing ones, asks once.

    Args:
        labels: frameworks as asked for, ``NAME`` or ``NAME==VERSION``.
        yes: build without asking.
        env_dir: the folder of environments; default: ``TRIALBED_ENV_DIR`` or the user's cache folder.

    Returns:
        label -> its environment; a label that is not in it runs in this interpreter.

    Raises:
        UsageError: a label has the wrong form, or there is nobody to ask.
        EnvironmentFailed: an environment is missing and was not or could not be built.
    """
    from trialbed.drivers import list_drivers
    from trialbed.errors import EnvironmentFailed
    from trialbed.records import framework_name, framework_release

    here = {driver.name for driver in list_drivers("frameworks")}
    elsewhere = [label for label in labels if framework_release(label) or framework_name(label) not in here]
    if elsewhere:
        raise EnvironmentFailed(f"{', '.join(elsewhere)}: environments cannot be built yet")
    return {}
