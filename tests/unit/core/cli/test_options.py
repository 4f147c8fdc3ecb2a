"""Options that several commands share, their values, and the help that shows them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.cli import cli
from trialbed.cli.formats import chosen_format
from trialbed.cli.options import FIRST, Numbers, SectionedCommand, escape_controls, json_text


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


def test_every_option_stands_in_one_section() -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if isinstance(command, SectionedCommand):
            own = click.Context(command)
            shown = Counter(option.name for _, options in command.sections(own) for option in options)
            assert shown == Counter(
                parameter.name for parameter in command.get_params(own) if isinstance(parameter, click.Option)
            )


def test_the_first_section_of_a_run_is_what_a_newcomer_needs() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert isinstance(command, SectionedCommand)
    (title, first), *others = command.sections(click.Context(command))
    assert title == FIRST
    assert [option.opts[-1] for option in first] == [
        "--framework",
        "--model",
        "--dataset",
        "--base-url",
        "--judge",
        "--limit",
        "--concurrency",
        "--format",
        "--json",
        "--help",
    ]
    assert len(others) > 1


def test_one_format_is_chosen_by_either_option() -> None:
    assert [chosen_format(None, as_json=False), chosen_format(None, as_json=True)] == ["table", "json"]
    assert [chosen_format("csv", as_json=False), chosen_format("json", as_json=True)] == ["csv", "json"]
    with pytest.raises(click.UsageError, match="--json and --format table ask for different formats"):
        chosen_format("table", as_json=True)
