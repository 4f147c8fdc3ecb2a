"""The command ``bench env``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import build_environments, env_dir_option, environment_store, report_third_party
from trialbed.cli.options import json_option, plain_option, print_json
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.environments import BuildRequest, EnvironmentStore, InstalledEnvironment

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
    from trialbed.errors import UsageError
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
    from trialbed.errors import UsageError
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
    from trialbed.errors import UsageError

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
