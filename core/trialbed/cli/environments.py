"""Environments of frameworks that cannot run in this interpreter: the options for them, and their provision."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trialbed.cli.options import FOLDER, option

if TYPE_CHECKING:
    from trialbed.environments import BuildRequest, EnvironmentStore, InstalledEnvironment
    from trialbed.records import Environment

yes_option = option("-y", "--yes", is_flag=True, help="Build missing environments without asking.")

env_dir_option = option(
    "--env-dir", type=FOLDER, help="Folder for the frameworks' environments. [default: the user's cache folder]"
)


def chosen_environments(
    frameworks: Sequence[str], *, yes: bool, env_dir: Path | None = None, check: Callable[[], object] | None = None
) -> dict[str, Environment]:
    """Return the environments of frameworks that cannot run in this interpreter; build missing ones, and ask once.

    Prints the environment of each to standard error. It starts its own event loop.

    Args:
        frameworks: frameworks as asked for, ``NAME[:PROFILE][==VERSION]``; profiles share an environment.
        yes: build without asking.
        env_dir: the folder of environments; default: ``TRIALBED_ENV_DIR`` or the user's cache folder.
        check: called before anything is built; raises if the command cannot succeed anyway.

    Returns:
        framework as asked for -> its environment; a framework that is not in it runs in this interpreter.

    Raises:
        UsageError: a framework has the wrong form, or consent is needed and there is no terminal to ask on.
        DriverNotFound: a name looks like a misspelt one.
        EnvironmentFailed: an environment is missing and was not or could not be built.
    """
    from trialbed.environments import runs_here

    if all(map(runs_here, frameworks)):
        return {}
    from trialbed.environments import needed_environments

    store = environment_store(env_dir)
    requests, missing = needed_environments(frameworks, store)
    if missing:
        if check is not None:
            check()
        _ask_consent(missing, store, yes=yes)
    installed = build_environments(store, [*requests.values()])
    return {label: installed[request.framework.text].environment for label, request in requests.items()}


def environment_store(env_dir: Path | None) -> EnvironmentStore:
    """Return the environments of the folder that an option, a variable or the default names."""
    from trialbed.environments import EnvironmentStore
    from trialbed.settings import env_dir as default

    return EnvironmentStore(env_dir or default())


def build_environments(store: EnvironmentStore, requests: Sequence[BuildRequest]) -> dict[str, InstalledEnvironment]:
    """Find environments, or build them and show the progress; return framework as asked for -> environment.

    Raises:
        EnvironmentFailed: one cannot be built.
    """
    import asyncio

    from trialbed.cli._build_progress import build_progress
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.environments import provide

    async def build() -> dict[str, InstalledEnvironment]:
        with cancel_on_terminate(), build_progress() as progress:
            return await provide(store, requests, progress)

    try:
        return asyncio.run(build())
    except asyncio.CancelledError:
        raise click.Abort from None


def report_third_party(store: EnvironmentStore, requests: Sequence[BuildRequest]) -> None:
    """Print the adapters that come from the package index by their name alone and are not published with Trialbed."""
    from trialbed.environments import FIRST_PARTY, adapter_distribution

    for request in map(store.with_last_adapter, requests):
        framework = request.framework
        adapter = adapter_distribution(framework.name)
        if framework.name not in FIRST_PARTY and adapter in request.requirements:
            click.echo(
                f"{framework.text}: not published with Trialbed; its adapter would be the third-party package "
                f"{adapter}, if the index has it",
                err=True,
            )


def _ask_consent(missing: Sequence[BuildRequest], store: EnvironmentStore, *, yes: bool) -> None:
    from trialbed.errors import EnvironmentFailed, UsageError

    report_third_party(store, missing)
    if yes:
        return
    names = [request.framework.text for request in missing]
    command = f"`bench env add {' '.join(names)}`"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{', '.join(names)}: not installed here, and there is no terminal to ask whether to build an "
            f"environment: give --yes, or run {command} first{_install_hint(missing)}"
        )
    many = len(names) > 1
    question = f"Build {'environments' if many else 'an environment'} for {', '.join(names)} with uv"
    if not click.confirm(f"{question} in {store.folder} (minutes, hundreds of megabytes each)?", err=True):
        raise EnvironmentFailed(f"{', '.join(names)}: not installed here; {command} builds what is missing")


def _install_hint(missing: Sequence[BuildRequest]) -> str:
    """Return the alternative for one framework; two in one environment may exclude each other's newest releases."""
    from trialbed.environments import FIRST_PARTY, install_command

    if len(missing) > 1:
        return ""
    framework = missing[0].framework
    if framework.name not in FIRST_PARTY:  # anybody may have taken the name on the package index
        return f"; for a program of your own, give its command: bench run --command '{framework.name}=…'"
    return f", or install it next to Trialbed: `{install_command(framework.name, *framework.pins)}`"
