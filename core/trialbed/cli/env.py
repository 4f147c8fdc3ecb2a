"""``bench env``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import build_environments, env_dir_option, name_strangers, open_shelf
from trialbed.cli.options import json_option

if TYPE_CHECKING:
    from trialbed.environments import Built, Request, Shelf

EPILOG = """\b
Examples:
  bench env add crewai openai-agents
  bench env list
  bench env lock crewai --output crewai.lock
  bench env remove crewai
"""

adapter_option = click.option(
    "--adapter", metavar="REQUIREMENT", help="Where its adapter is. [default: where Trialbed came from]"
)

refresh_option = click.option("--refresh", is_flag=True, help="Choose versions anew, to take newer releases.")


@click.group("env", epilog=EPILOG)
def command() -> None:
    """Build, list, lock and remove environments of frameworks.

    A framework that is not installed beside Trialbed runs in an environment of its own. `bench run` builds what is
    missing; these commands do it ahead of time, and say what is there.
    """


@command.command("add", epilog="Example: bench env add crewai langgraph==1.2.11")
@click.argument("name", nargs=-1, required=True, metavar="NAME[==VERSION]...")
@adapter_option
@click.option(
    "--lock",
    "lock_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Install exactly what this file says, as `bench env lock` wrote it.",
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
    """Build environments, or find them built.

    NAME==VERSION pins a release of the framework. The adapter of a framework that Trialbed does not know is looked
    for as the distribution trialbed-NAME; --adapter names another, as in a requirements file.
    """
    from trialbed.environments import read_lock, runs_here
    from trialbed.errors import UsageError

    labels = list(dict.fromkeys(name))
    if len(labels) > 1 and (adapter or lock_file):
        raise UsageError("--adapter and --lock are about one framework: give one NAME")
    if lock_file and refresh:
        raise UsageError("--lock says which versions to install, --refresh chooses others: give one of them")
    lock = read_lock(lock_file.read_bytes().decode(errors="replace"), str(lock_file)) if lock_file else ()
    requests = [_request(label, adapter, lock=lock, refresh=refresh) for label in labels]
    shelf = open_shelf(env_dir)
    name_strangers(shelf, requests)
    built = build_environments(shelf, requests)
    for label in filter(runs_here, labels):
        click.echo(f"{label}: is installed beside Trialbed too; `bench run` uses that one", err=True)
    if as_json:
        _print_json([_row(shelf, built[label]) for label in labels])


@command.command("list", epilog="Example: bench env list --json")
@env_dir_option
@json_option
def list_(env_dir: Path | None, as_json: bool) -> None:
    """List the environments that are there, and what is in them."""
    shelf = open_shelf(env_dir)
    rows = [_row(shelf, built) for built in shelf]
    if as_json:
        _print_json(rows)
    elif rows:
        _print_rows(rows)
    else:
        click.echo(f"no environments in {shelf.folder}; `bench env add NAME` builds one", err=True)


@command.command("lock", epilog="Example: bench env lock crewai --output crewai.lock")
@click.argument("name", metavar="NAME[==VERSION]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@adapter_option
@refresh_option
@env_dir_option
@json_option
def lock(
    name: str, output: Path | None, adapter: str | None, refresh: bool, env_dir: Path | None, as_json: bool
) -> None:
    """Print the lock of a framework's environment.

    It names every package with its exact version.
    Without an environment, or with --refresh, versions are chosen now and nothing is installed.
    """
    from trialbed.environments import lock_digest
    from trialbed.errors import UsageError

    shelf = open_shelf(env_dir)
    text = _lock_text(shelf, _request(name, adapter, refresh=refresh))
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}; name another with --output") from error
        click.echo(f"written: {output}", err=True)
    if as_json:
        _print_json({"framework": name, "lock_digest": lock_digest(text), "lock": text})
    elif output is None:
        click.echo(text, nl=False)


@command.command("remove", epilog="Example: bench env remove langgraph==1.2.11")
@click.argument("name", nargs=-1, metavar="[NAME[==VERSION]|DIGEST]...")
@click.option("--all", "every", is_flag=True, help="Remove every environment, and what killed builds left.")
@click.option("--force", is_flag=True, help="Also those that a process runs from.")
@env_dir_option
@json_option
def remove(name: tuple[str, ...], every: bool, force: bool, env_dir: Path | None, as_json: bool) -> None:
    """Remove environments.

    Every one of a framework, those of one release, or one by its lock's digest.
    """
    from trialbed.environments import remove as remove_one
    from trialbed.errors import UsageError

    if bool(name) == every:
        raise UsageError("say which environments: NAME, NAME==VERSION, a digest as `bench env list` shows it, or --all")
    shelf = open_shelf(env_dir)
    chosen = list(shelf) if every else [built for one in dict.fromkeys(name) for built in _named(shelf, one)]
    removed, refusals = [], []
    for built in chosen:
        row = _row(shelf, built)
        try:
            remove_one(shelf, built, force=force)
        except UsageError as error:
            refusals.append(str(error))
            continue
        removed.append(row)
        click.echo(f"removed {built.title} ({built.summary})", err=True)
    if every:
        with suppress(OSError):  # a folder that may not be written to was refused already
            shelf.sweep()
    if as_json:
        _print_json(removed)
    if refusals:
        raise UsageError("\n".join(refusals))


def _request(label: str, adapter: str | None, **more: Any) -> Request:
    from trialbed.environments import Request, check_name, read_label, read_requirement

    read = read_label(label)
    if adapter is None:
        check_name(read)
    return Request(read, adapter=read_requirement(adapter) if adapter else "", **more)


def _lock_text(shelf: Shelf, request: Request) -> str:
    import asyncio

    from trialbed.environments import Uv, lock_text, resolve
    from trialbed.settings import make_folder

    found = None if request.refresh or request.adapter else shelf.find(request)
    if found is not None:
        return found.lock
    make_folder(shelf.folder, "--env-dir")
    uv = Uv(shelf.folder, lambda: click.echo("no network; going on with what uv has in its cache", err=True))
    return lock_text(asyncio.run(resolve(uv, shelf.recalled(request))))


def _named(shelf: Shelf, name: str) -> list[Built]:
    from packaging.version import Version

    from trialbed.environments import read_label
    from trialbed.errors import UsageError

    found = [built for built in shelf if name in (built.title, built.about.name) or _is_digest(built, name)]
    if not found:
        label = read_label(name)
        found = [
            built
            for built in shelf
            if label.release and built.about.name == label.name and built.about.framework_version
            if Version(built.about.framework_version) == Version(label.release)
        ]
    if not found:
        there = ", ".join(built.title for built in shelf) or "none"
        raise UsageError(f"there is no environment {name!r} in {shelf.folder}; there is: {there}")
    return found


def _is_digest(built: Built, name: str) -> bool:
    return len(name) >= 6 and built.about.lock_digest.startswith(name)


def _row(shelf: Shelf, built: Built) -> dict[str, Any]:
    about = built.about.model_dump(mode="json")
    asked = sorted({answer.label for answer in shelf.answers() if answer.environment == built.title})
    return {
        "environment": built.title,
        "answers": asked,
        **about,
        "path": str(built.folder),
        "interpreter": built.environment.python,
    }


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        framework = f"{row['name']} {row['framework_version']}".strip()
        click.echo(f"{row['environment']}: {framework}, adapter {row['adapter']} {row['adapter_version']}")
        python = row["python"].split()[1]
        click.echo(f"  {len(row['packages'])} packages, {row['size'] / 1e6:,.0f} MB, Python {python}")
        click.echo(f"  runs {', '.join(row['answers']) or 'nothing: a newer one took its place'}")
        click.echo(f"  {row['path']}")


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
