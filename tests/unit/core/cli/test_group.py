"""The group of commands: lazy, and true to what it loads later."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.cli import cli
from trialbed.cli._group import COMMANDS, SECTIONS

FOLDER = Path(str(import_module("trialbed.cli").__file__)).parent
SHARED = {
    "completion",
    "documents",
    "environments",
    "formats",
    "options",
    "plugin_files",
    "progress",
    "sections",
    "setting_options",
    "signals",
    "stored",
    "thresholds",
    "waiting",
}
"""Modules of what commands share, those of other packages too."""

BESIDE = ("adopt",) if find_spec("trialbed_masbench") else ()
"""Commands of other distributions of the checkout."""

PRINTS_A_RESULT = (
    "adapter check",
    *(f"{name} masbench" for name in BESIDE),
    "compare",
    "data list",
    "data import",
    "data show",
    "doctor",
    "env add",
    "env list",
    "faults list",
    "env lock",
    "env remove",
    "fidelity",
    "judge calibrate",
    "judge cases",
    "models",
    "plan",
    "plugin check",
    "plugins",
    "rank",
    "record",
    "releases",
    "replay",
    "reproduce",
    "run",
    "runs",
    "runs remove",
    "score",
    "select",
    "show",
    "tasks check",
    "tasks draft",
    "tools import",
    "verify",
)


def test_the_help_has_each_command_in_a_section_and_the_first_ones_first() -> None:
    named = [*(name for names in SECTIONS.values() for name in names), *BESIDE]
    assert sorted(named) == cli.list_commands(click.Context(cli))
    shown = CliRunner().invoke(cli, ["--help"], prog_name="bench").output
    first = [line.split()[0] for line in shown.splitlines() if re.match(r"  [a-z][a-z-]*  ", line)]
    assert first == named
    assert "..." not in shown.partition("Run and compare:")[2]


def command(path: str) -> click.Command:
    found: click.Command = cli
    for name in path.split():
        assert isinstance(found, click.Group)
        child = found.get_command(click.Context(found), name)
        assert child is not None
        found = child
    return found


def all_commands() -> list[str]:
    paths: list[str] = []
    for name in cli.list_commands(click.Context(cli)):
        loaded = command(name)
        inner = loaded.commands if isinstance(loaded, click.Group) else {}
        paths += [f"{name} {child}" for child in inner]
        paths += [name] if not inner or getattr(loaded, "invoke_without_command", False) else []
    return paths


def test_the_group_describes_a_command_as_the_command_does() -> None:
    described = {name: text for names in SECTIONS.values() for name, text in names.items()}
    assert {name: command(name).get_short_help_str(90) for name in described} == described


def test_every_module_and_package_of_a_command_is_listed() -> None:
    modules = {file.stem for file in FOLDER.glob("*.py") if not file.stem.startswith("_")} - SHARED
    packages = {file.parent.name for file in FOLDER.glob("*/__init__.py")}
    assert modules | packages == COMMANDS
    assert not modules & packages


def test_the_list_of_a_group_shows_whole_descriptions() -> None:
    found = {path: command(path).get_short_help_str(60) for path in all_commands() if " " in path}
    assert {path: text for path, text in found.items() if text.endswith("...")} == {}


@for_each(("typed", "meant"), [("adaptor", "adapter"), ("fidelty", "fidelity"), ("list", None)])
def test_a_misspelt_command_gets_a_suggestion(typed: str, meant: str | None) -> None:
    result = CliRunner().invoke(cli, [typed])
    assert result.exit_code == 2
    assert f"No such command '{typed}'." in result.stderr
    assert ("Did you mean" in result.stderr) is (meant is not None)
    assert meant is None or f"Did you mean '{meant}'?" in result.stderr


def test_every_command_has_help_with_an_example(subtests: pytest.Subtests) -> None:
    for path in all_commands():
        with subtests.test(path):
            result = CliRunner().invoke(cli, [*path.split(), "--help"])
            options = [option for option in command(path).params if isinstance(option, click.Option)]
            assert result.exit_code == 0
            assert f"bench {path.split()[0]}" in (command(path).epilog or "")
            assert all(option.help for option in options)


def test_every_command_that_prints_a_result_can_print_json() -> None:
    options = {path: [name for option in command(path).params for name in option.opts] for path in all_commands()}
    assert {path for path, names in options.items() if "--json" in names} >= set(PRINTS_A_RESULT)
    assert set(options) - set(PRINTS_A_RESULT) == {
        "adapter new",
        "demo",
        "export",
        "init",
        "publish",
        "report",
        "serve",
        "tasks schema",
        "view",
    }
