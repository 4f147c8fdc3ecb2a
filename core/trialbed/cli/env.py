"""Environments of frameworks that cannot run in this interpreter: their provision, and ``bench env``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FOLDER, json_option, option, plain_option, print_json
from trialbed.errors import EnvironmentFailed, UsageError
from trialbed.texts import number_of

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

    from trialbed.cli.progress import build_progress, cancel_on_terminate
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


EPILOG = """\b
Examples:
  bench env add crewai openai-agents
  bench env list
  bench env lock crewai --output crewai.lock
  bench env remove crewai
"""

adapter_option = plain_option(
    "--adapter", metavar="REQUIREMENT", help="The adapter's package. [default: from the same source as Trialbed]"
)

refresh_option = plain_option("--refresh", is_flag=True, help="Choose versions again, to get newer releases.")


@click.group("env", epilog=EPILOG)
def command() -> None:
    """Build, list, lock and remove environments of frameworks.

    A framework that is not installed together with Trialbed runs in its own environment. `bench run` builds missing
    ones; these commands build them ahead of time and manage them.
    """


@command.command("add", epilog="Example: bench env add crewai langgraph==1.2.11")
@click.argument("name", nargs=-1, required=True, metavar="NAME[==VERSION]...")
@adapter_option
@plain_option(
    "--lock",
    "lock_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Install exactly the packages in this file, written by `bench env lock`.",
)
@refresh_option
@plain_option("-y", "--yes", is_flag=True, expose_value=False, help="Has no effect: this command never asks.")
@env_dir_option
@json_option
def add(
    name: tuple[str, ...],
    adapter: str | None,
    lock_file: Path | None,
    refresh: bool,
    env_dir: Path | None,
    as_json: bool,
) -> None:
    """Build environments that do not exist yet.

    NAME==VERSION pins a release of the framework. The adapter of a framework that does not come with Trialbed is
    the package trialbed-NAME; --adapter names another, as in a requirements file.
    """
    from trialbed.environments import read_lock, runs_here
    from trialbed.files import read_bytes

    frameworks = list(dict.fromkeys(name))
    if len(frameworks) > 1 and (adapter or lock_file):
        raise UsageError("--adapter and --lock are for one framework: give one NAME")
    if lock_file and refresh:
        raise UsageError("--lock says which versions to install, --refresh chooses others: give one of them")
    lock = read_lock(read_bytes(lock_file).decode(errors="replace"), str(lock_file)) if lock_file else ()
    requests = [_request(text, adapter, lock=lock, refresh=refresh) for text in frameworks]
    store = environment_store(env_dir)
    report_third_party(store, requests)
    installed = build_environments(store, requests)
    for text in filter(runs_here, frameworks):
        click.echo(f"{text}: also installed next to Trialbed; `bench run` uses that installation", err=True)
    if as_json:
        print_json([_row(store, installed[text]) for text in frameworks])


@command.command("list", epilog="Example: bench env list --json")
@env_dir_option
@json_option
def list_(env_dir: Path | None, as_json: bool) -> None:
    """List environments and their contents."""
    store = environment_store(env_dir)
    rows = [_row(store, installed) for installed in store]
    if as_json:
        print_json(rows)
    elif rows:
        _print_rows(rows)
    else:
        click.echo(f"no environments in {store.folder}; `bench env add NAME` builds one", err=True)


@command.command("lock", epilog="Example: bench env lock crewai --output crewai.lock")
@click.argument("name", metavar="NAME[==VERSION]")
@plain_option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the lock to this file.")
@env_dir_option
@json_option
def lock(name: str, output: Path | None, env_dir: Path | None, as_json: bool) -> None:
    """Print the lock of a framework's environment.

    It names every package with its exact version.
    """
    from trialbed.environments import lock_digest
    from trialbed.files import write_text

    found = environment_store(env_dir).find(_request(name, None))
    if found is None:
        raise UsageError(f"{name} has no environment yet; `bench env add {name}` builds it")
    if output is not None:
        write_text(output, found.lock, "--output")
        click.echo(f"written: {output}", err=True)
    if as_json:
        print_json({"framework": name, "lock_digest": lock_digest(found.lock), "lock": found.lock})
    elif output is None:
        click.echo(found.lock, nl=False)


@command.command("remove", epilog="Example: bench env remove langgraph==1.2.11")
@click.argument("name", nargs=-1, metavar="[NAME[==VERSION]|DIGEST]...")
@plain_option("--all", "every", is_flag=True, help="Remove every environment.")
@env_dir_option
@json_option
def remove(name: tuple[str, ...], every: bool, env_dir: Path | None, as_json: bool) -> None:
    """Remove environments.

    Select all environments of a framework, those of one release, or one by the digest of its lock.
    """
    if bool(name) == every:
        raise UsageError("name the environments: NAME, NAME==VERSION, a digest from `bench env list`, or --all")
    store = environment_store(env_dir)
    environments = list(store)
    wanted = {one: [item for item in environments if every or _is_meant(item, one)] for one in name}
    unknown = next((one for one, found in wanted.items() if not found), None)
    if unknown is not None:
        names = ", ".join(item.name for item in environments) or "none"
        raise UsageError(f"no environment {unknown!r} in {store.folder}; environments: {names}")
    chosen = environments if every else [*chain(*wanted.values())]
    removed = []
    for installed in chosen:
        removed.append(_row(store, installed))
        store.remove(installed)
        click.echo(f"removed {installed.name} ({installed.summary})", err=True)
    if as_json:
        print_json(removed)


def _request(text: str, adapter: str | None, **more: Any) -> BuildRequest:
    from trialbed.environments import BuildRequest, FrameworkSpec, check_name, read_requirement

    framework = FrameworkSpec.parse(text)
    if adapter is None:
        check_name(framework)
    return BuildRequest(framework, adapter=read_requirement(adapter) if adapter else "", **more)


def _is_meant(installed: InstalledEnvironment, name: str) -> bool:
    """Return whether an environment has this name, framework or release, or a digest of its lock that begins so."""
    about = installed.metadata
    names = (installed.name, about.name, f"{about.name}=={about.framework_version}")
    return name in names or (len(name) >= 6 and about.lock_digest.startswith(name))


def _row(store: EnvironmentStore, installed: InstalledEnvironment) -> dict[str, Any]:
    metadata = installed.metadata.model_dump(mode="json")
    frameworks = sorted({cached.label for cached in store.resolutions() if cached.environment == installed.name})
    return {
        "environment": installed.name,
        "answers": frameworks,
        **metadata,
        "path": str(installed.folder),
        "interpreter": installed.environment.python,
    }


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        framework = f"{row['name']} {row['framework_version']}".strip()
        click.echo(f"{row['environment']}: {framework}, adapter {row['adapter']} {row['adapter_version']}")
        python = row["python"].split()[1]
        click.echo(f"  {number_of(len(row['packages']), 'package')}, {row['size'] / 1e6:,.0f} MB, Python {python}")
        click.echo(f"  runs {', '.join(row['answers']) or 'nothing: replaced by a newer environment'}")
        click.echo(f"  {row['path']}")
