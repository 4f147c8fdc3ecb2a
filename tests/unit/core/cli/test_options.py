"""Options that several commands share, and their values."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.cli import cli
from trialbed.cli.options import Numbers, escape_controls, json_text, option


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
