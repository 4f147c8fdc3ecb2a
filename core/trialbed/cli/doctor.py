"""``bench doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from trialbed.catalogs import dataset_driver
from trialbed.cli._group import COMMANDS
from trialbed.cli.options import json_option, print_json
from trialbed.cli.plugins import inventory
from trialbed.contracts import Executor
from trialbed.drivers import load_driver
from trialbed.environments import (
    FIRST_PARTY,
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    find_uv,
    install_command,
    runs_here,
)
from trialbed.errors import DriverError, SandboxUnavailable, TrialbedError
from trialbed.settings import data_dir, env_dir, read_settings_file, state_dir

EPILOG = """\b
Examples:
  bench doctor
  bench doctor --json
"""

COLOURS = {"ok": "green", "none": "yellow", "bad": "red"}
ENOUGH_SPACE = 2e9
"""Bytes that the environment of a large framework takes, with space for another."""


@dataclass(frozen=True)
class DoctorCheck:
    """One finding: ``ok``, ``none`` (missing, and not needed for everything) or ``bad`` (installed, but broken)."""

    state: str
    subject: str
    finding: str
    remedy: str = ""


def checks() -> Iterator[DoctorCheck]:
    """Yield every check, in the order a new user meets its subject."""
    yield DoctorCheck("ok", "python", f"{platform.python_version()} at {os.path.realpath(sys.executable)}")
    yield _settings()
    for subject, folder in (("state", state_dir()), ("data", data_dir()), ("env", env_dir())):
        is_writable, remedy = os.access(_nearest(folder), os.W_OK), f"TRIALBED_{subject.upper()}_DIR"
        found = f"{folder} is {'' if is_writable else 'not '}writable"
        yield _either(is_writable, subject, found, remedy=f"set {remedy} to a writable folder", state="bad")
    free = shutil.disk_usage(_nearest(env_dir())).free
    found = f"{free / 1e9:,.1f} GB free for environments in {env_dir()}"
    more = "bench env remove NAME, or set TRIALBED_ENV_DIR to another disk"
    yield _either(free >= ENOUGH_SPACE, "space", found, remedy=more)
    yield from _drivers()
    yield from map(_adapter, FIRST_PARTY)
    imported = bool(dataset_driver("stabletoolbench").test_sets(data_dir()))
    remedy = "bench data import DIR, with a checkout of StableToolBench"
    yield _either(imported, "stabletoolbench", "imported", "not imported", remedy)
    has_key, hidden = bool(os.environ.get("OPENAI_API_KEY")), "OPENAI_API_KEY is set (its value is never shown)"
    remedy = "only real models need a key: put it into .env"
    yield _either(has_key, "key", hidden, "OPENAI_API_KEY is not set", remedy)
    uv, missing = find_uv(), "not found, so environments of frameworks cannot be built"
    yield _either(uv is not None, "uv", uv or missing, remedy="pip install uv", state="bad")
    yield from _sandbox()


def _either(
    met: bool, subject: str, found: str, missing: str = "", remedy: str = "", state: str = "none"
) -> DoctorCheck:
    """Return a check that is met, or else the other finding, if there is one, with the remedy."""
    return DoctorCheck("ok", subject, found) if met else DoctorCheck(state, subject, missing or found, remedy)


def _settings() -> DoctorCheck:
    try:
        found = read_settings_file(Path.cwd())
    except TrialbedError as error:
        return DoctorCheck("bad", "settings", str(error))
    return DoctorCheck("ok", "settings", str(found.path) if found else "no bench.toml; the defaults apply")


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest parent that exists."""
    return next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())


def _adapter(name: str) -> DoctorCheck:
    """Look up the place of a framework with an adapter from Trialbed."""
    installed = None if runs_here(name) else EnvironmentStore(env_dir()).find(BuildRequest(FrameworkSpec.parse(name)))
    found = "installed here" if installed is None else f"own environment {installed.name} ({installed.summary})"
    remedy = f"bench env add {name}, or {install_command(name)} to install it here"
    is_there = installed is not None or runs_here(name)
    return _either(is_there, name, found, "adapter not installed", remedy)


def _drivers() -> Iterator[DoctorCheck]:
    items = inventory()
    for item in items:
        if item.problem:
            yield DoctorCheck(
                "bad", f"{item.kind} {item.name}", item.problem, f"update or uninstall {item.distribution}"
            )
    for kind, own in {"frameworks": (), "commands": COMMANDS}.items():
        working = {item.name for item in items if item.kind == kind and not item.problem}
        yield DoctorCheck("ok", kind, ", ".join(sorted(working.union(own))))


def _sandbox() -> Iterator[DoctorCheck]:
    """Start a process in the local executor's sandbox, which may be installed and still not work here."""
    with suppress(DriverError):  # an executor that cannot be loaded is listed with the drivers
        executor: type[Executor] = load_driver("executors", "local")
        try:
            yield DoctorCheck("ok", "sandbox", ", ".join(executor.check_sandbox()))
        except SandboxUnavailable as error:
            yield DoctorCheck("none", "sandbox", error.missing, error.remedy)


@click.command("doctor", epilog=EPILOG)
@json_option
def command(as_json: bool) -> int:
    """Check the installation, and show how to get missing parts.

    Exits with 1 if something installed is broken. Things that are merely missing (an adapter, a key) are listed with
    the command that installs or sets them.
    """
    found = list(checks())
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        for check in found:
            mark = click.style(f"{check.state:4}", fg=COLOURS[check.state])
            click.echo(f"{mark} {check.subject}: {check.finding}")
            if check.remedy:
                click.echo(f"     {check.remedy}")
    return int(any(check.state == "bad" for check in found))
