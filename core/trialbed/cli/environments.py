"""Frameworks that cannot run in this interpreter: their options, and the environments that they run in instead."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import FOLDER, option

if TYPE_CHECKING:
    from trialbed.environments import Built, Request, Shelf
    from trialbed.records import Environment

yes_option = option("-y", "--yes", is_flag=True, help="Build missing environments without asking.")

env_dir_option = option(
    "--env-dir",
    type=FOLDER,
    help="Folder of frameworks' own environments. [default: the user's cache folder]",
)


def chosen_environments(
    labels: Sequence[str], *, yes: bool, env_dir: Path | None = None, check: Callable[[], object] | None = None
) -> dict[str, Environment]:
    """The environments of the frameworks that cannot run in this interpreter; builds missing ones, asks once.

    Says on standard error which environment each of them has. Not to be called where an event loop runs.

    Args:
        labels: frameworks as asked for, ``NAME`` or ``NAME==VERSION``.
        yes: build without asking.
        env_dir: the folder of environments; default: ``TRIALBED_ENV_DIR`` or the user's cache folder.
        check: called before anything is built; raises if what the environments are for cannot be done anyway.

    Returns:
        label -> its environment; a label that is not in it runs in this interpreter.

    Raises:
        UsageError: a label has the wrong form, or there is nobody to ask.
        DriverNotFound: a name is almost one that is known.
        EnvironmentFailed: an environment is missing and was not or could not be built.
    """
    from trialbed.environments import Request, read_label, runs_here

    requests = [Request(read_label(label)) for label in dict.fromkeys(labels) if not runs_here(label)]
    if not requests:
        return {}
    shelf = open_shelf(env_dir)
    found = {request.label.text: shelf.find(request) for request in requests}
    there = {label: built for label, built in found.items() if built is not None}
    for label, built in there.items():
        click.echo(f"{label}: own environment {built.title} ({built.summary})", err=True)
    missing = [request for request in requests if request.label.text not in there]
    if missing:
        if check is not None:
            check()
        _agree(missing, shelf, yes=yes)
        there |= build_environments(shelf, missing)
    return {request.label.text: there[request.label.text].environment for request in requests}


def open_shelf(env_dir: Path | None) -> Shelf:
    """The environments of the folder that an option, a variable or the default names."""
    from trialbed.environments import Shelf
    from trialbed.settings import env_dir as default

    return Shelf(env_dir or default())


def build_environments(shelf: Shelf, requests: Sequence[Request]) -> dict[str, Built]:
    """Build what is missing, and say so while it lasts; label -> environment.

    Raises:
        EnvironmentFailed: one could not be built.
    """
    from trialbed.cli._building import building
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.environments import provide
    from trialbed.settings import make_folder

    make_folder(shelf.folder, "--env-dir")

    async def build() -> dict[str, Built]:
        with cancel_on_terminate(), building() as progress:
            return await provide(shelf, requests, progress)

    try:
        return asyncio.run(build())
    except asyncio.CancelledError:
        raise click.Abort from None


def name_strangers(shelf: Shelf, requests: Sequence[Request]) -> None:
    """Say whose adapters come from the package index by their name alone and are not Trialbed's own."""
    from trialbed.environments import KNOWN, adapter_distribution

    for request in map(shelf.recalled, requests):
        distribution = adapter_distribution(request.label.name)
        if request.label.name not in KNOWN and distribution in request.requirements:
            click.echo(f"{request.label.text}: its adapter is a third party's, {distribution} of the index", err=True)


def _agree(missing: Sequence[Request], shelf: Shelf, *, yes: bool) -> None:
    from trialbed.environments import check_name
    from trialbed.errors import EnvironmentFailed, UsageError

    for request in missing:
        check_name(request.label)
    name_strangers(shelf, missing)
    names = [request.label.text for request in missing]
    if yes:
        return
    how = f"`bench env add {' '.join(names)}`"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{', '.join(names)}: not installed here, and there is nobody to ask whether to build an environment: "
            f"give --yes, or run {how} before{_beside(missing)}"
        )
    many = len(names) > 1
    question = f"Build {'environments' if many else 'an environment'} for {', '.join(names)} with uv"
    if not click.confirm(f"{question} in {shelf.folder} (minutes, hundreds of megabytes each)?", err=True):
        raise EnvironmentFailed(f"{', '.join(names)}: not installed here; {how} builds what is missing")


def _beside(missing: Sequence[Request]) -> str:
    """The third way out, if it is one: two frameworks in one environment may exclude each other's newest releases."""
    from trialbed.environments import install_command

    if len(missing) > 1:
        return ""
    label = missing[0].label
    return f", or install it beside Trialbed: `{install_command(label.name, *label.pins)}`"
