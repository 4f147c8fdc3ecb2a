"""The command ``bench env``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
@adapter_option
@refresh_option
@env_dir_option
@json_option
def lock(
    name: str, output: Path | None, adapter: str | None, refresh: bool, env_dir: Path | None, as_json: bool
) -> None:
    """Print the lock of a framework's environment.

    The lock lists every package with its exact version.
    If there is no environment yet, or with --refresh, versions are chosen now and nothing is installed.
    """
    from trialbed.environments import lock_digest
    from trialbed.errors import UsageError

    store = environment_store(env_dir)
    text = _lock_text(store, _request(name, adapter, refresh=refresh))
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}; name another with --output") from error
        click.echo(f"written: {output}", err=True)
    if as_json:
        print_json({"framework": name, "lock_digest": lock_digest(text), "lock": text})
    elif output is None:
        click.echo(text, nl=False)


@command.command("remove", epilog="Example: bench env remove langgraph==1.2.11")
@click.argument("name", nargs=-1, metavar="[NAME[==VERSION]|DIGEST]...")
@plain_option("--all", "every", is_flag=True, help="Remove every environment, and the remains of killed builds.")
@plain_option("--force", is_flag=True, help="Also remove environments that are in use.")
@env_dir_option
@json_option
def remove(name: tuple[str, ...], every: bool, force: bool, env_dir: Path | None, as_json: bool) -> None:
    """Remove environments.

    Select all environments of a framework, those of one release, or one by the digest of its lock.
    """
    from trialbed.errors import UsageError

    if bool(name) == every:
        raise UsageError("name the environments: NAME, NAME==VERSION, a digest from `bench env list`, or --all")
    store = environment_store(env_dir)
    chosen = list(store) if every else [found for one in dict.fromkeys(name) for found in _matching(store, one)]
    removed, refusals = [], []
    for installed in chosen:
        row = _row(store, installed)
        try:
            store.remove(installed, force=force)
        except UsageError as error:
            refusals.append(str(error))
            continue
        removed.append(row)
        click.echo(f"removed {installed.name} ({installed.summary})", err=True)
    if every:
        with suppress(OSError):  # a folder that cannot be written was reported already
            store.remove_leftovers()
    if as_json:
        print_json(removed)
    if refusals:
        raise UsageError("\n".join(refusals))


def _request(text: str, adapter: str | None, **more: Any) -> BuildRequest:
    from trialbed.environments import BuildRequest, FrameworkSpec, check_name, read_requirement

    framework = FrameworkSpec.parse(text)
    if adapter is None:
        check_name(framework)
    return BuildRequest(framework, adapter=read_requirement(adapter) if adapter else "", **more)


def _lock_text(store: EnvironmentStore, request: BuildRequest) -> str:
    import asyncio

    from trialbed.environments import Uv, lock_text, resolve, with_distributions
    from trialbed.settings import make_folder

    found = None if request.refresh or request.adapter else store.find(request)
    if found is not None:
        return found.lock
    make_folder(store.folder, "--env-dir", shared=True)
    uv = Uv(store.folder, lambda: click.echo("no network; using only uv's cache", err=True))

    async def choose() -> tuple[str, ...]:
        return await resolve(uv, await with_distributions(uv, store.with_last_choices(request)))

    return lock_text(asyncio.run(choose()))


def _matching(store: EnvironmentStore, name: str) -> list[InstalledEnvironment]:
    from packaging.version import Version

    from trialbed.environments import FrameworkSpec
    from trialbed.errors import UsageError

    found = [item for item in store if name in (item.name, item.metadata.name) or _has_digest(item, name)]
    if not found:
        framework = FrameworkSpec.parse(name)
        found = [
            item
            for item in store
            if framework.release and item.metadata.name == framework.name and item.metadata.framework_version
            if Version(item.metadata.framework_version) == Version(framework.release)
        ]
    if not found:
        names = ", ".join(item.name for item in store) or "none"
        raise UsageError(f"no environment {name!r} in {store.folder}; environments: {names}")
    return found


def _has_digest(installed: InstalledEnvironment, digest: str) -> bool:
    return len(digest) >= 6 and installed.metadata.lock_digest.startswith(digest)


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
