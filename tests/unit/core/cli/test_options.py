"""Options: each is given once, or says that it may be given again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.cli import cli
from trialbed.cli.options import Numbers, SingleOption, escape_controls, json_text, option


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command below this one, with the words that call it."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from commands(found, (*path, name))


def test_every_option_is_refused_twice_unless_it_is_repeatable() -> None:
    options = [
        (path, parameter)
        for path, command in commands(cli)
        for parameter in command.params
        if isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag or parameter.count)
    ]
    assert len(options) > 60
    assert [(path, option.name) for path, option in options if not isinstance(option, SingleOption)] == []


@for_each("arguments", [("run", "--selector"), ("run", "-j"), ("verify", __file__, "--api-key"), ("serve", "--faults")])
def test_an_option_that_is_given_twice_is_refused_without_its_values(arguments: tuple[str, ...]) -> None:
    *before, flag = arguments
    done = CliRunner().invoke(cli, [*before, flag, "12341234", flag, "43214321"])
    assert done.exit_code == 2
    assert "it is given 2 times; give it once" in done.output
    assert "12341234" not in done.output
    assert "43214321" not in done.output


def ask(*arguments: str, **settings: Any) -> Any:
    """The value of --name as a command gets it."""
    seen: list[Any] = []

    @click.command()
    @option("--name", **settings)
    def command(name: Any) -> None:
        seen.append(name)

    done = CliRunner().invoke(command, arguments, env={"TRIALBED_NAME": None})
    assert done.exit_code == 0, done.output
    return seen[0]


def test_a_single_value_is_the_value() -> None:
    assert ask("--name", "a") == "a"
    assert ask("--name", "3", type=int) == 3
    assert ask(default="b") == "b"
    assert ask() is None


def test_repeatable_options_and_flags_are_as_click_has_them() -> None:
    assert ask("--name", "a", "--name", "b", multiple=True) == ("a", "b")
    assert ask("--name", "--name", is_flag=True) is True


def test_the_value_of_an_option_may_be_left_out_where_it_says_so() -> None:
    settings = {"is_flag": False, "flag_value": "last"}
    assert ask(**settings) is None
    assert ask("--name", **settings) == "last"
    assert ask("--name", "r1", **settings) == "r1"


def test_json_keeps_letters_and_lines_and_escapes_all_that_controls_a_terminal() -> None:
    value = {"ü": ["ж", "\x1b[2J", "\x9b", "\u202e", "\ud800", "🙂"]}
    text = json_text(value)
    assert set("üж🙂") < set(text)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value
    assert escape_controls('{\n  "a": "b"\n}') == '{\n  "a": "b"\n}'


@for_each(("option", "number"), [("--timeout", "inf"), ("--temperature", "nan")])
def test_a_number_of_an_option_is_finite(option: str, number: str) -> None:
    result = CliRunner().invoke(cli, ["run", option, number])
    assert result.exit_code == 2
    assert f"'{option}': {number} is not a finite number" in result.stderr


@for_each(("text", "value"), [("8", (8,)), ("16, 8,8", (8, 16)), (5, (5,))])
def test_an_option_takes_a_number_or_several(text: Any, value: Any) -> None:
    assert Numbers().convert(text, None, None) == value


@for_each("text", ["", "0", "8,", "x", "8;16", "-1"])
def test_an_option_rejects_other_texts_than_numbers(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a number from 1 on, or several"):
        Numbers().convert(text, None, None)
