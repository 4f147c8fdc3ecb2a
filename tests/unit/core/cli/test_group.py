"""The group of commands: lazy, and true to what it loads later."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.cli import cli

WITHOUT_JSON = {"adapter new", "demo", "export", "init", "publish", "report", "serve", "tasks schema", "view"}


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


def test_the_help_has_each_command_once_as_the_command_describes_itself_and_the_first_ones_first() -> None:
    shown = CliRunner().invoke(cli, ["--help"], prog_name="bench", terminal_width=200, max_content_width=200).output
    listed = dict(re.findall(r"^  ([a-z][a-z-]*) +(.*)$", shown.partition("Run and compare:")[2], re.MULTILINE))
    assert list(listed)[:4] == ["demo", "run", "show", "compare"]
    assert listed == {name: command(name).get_short_help_str(90) for name in cli.list_commands(click.Context(cli))}


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
    assert {path for path, names in options.items() if "--json" not in names} - WITHOUT_JSON == set()
