"""Help that shows options under headings."""

from __future__ import annotations

from collections import Counter

import click
from click.testing import CliRunner

from trialbed.cli import cli
from trialbed.cli.sections import FIRST, SectionedCommand


def test_options_stand_under_their_heading_and_all_others_come_first() -> None:
    command = SectionedCommand(
        "made",
        params=[click.Option([f"--{name}"], help=f"About {name}.") for name in ("rare", "common", "odd")],
        sections={"Seldom": ("odd", "rare")},
    )
    text = CliRunner().invoke(command, ["--help"]).output
    places = [text.index(part) for part in ("Options:", "--common", "--help", "Seldom:", "--odd", "--rare")]
    assert places == sorted(places)


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
