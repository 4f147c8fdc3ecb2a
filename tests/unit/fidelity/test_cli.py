from __future__ import annotations

import click

from trialbed_fidelity import PARTS as ALL_PARTS
from trialbed_fidelity import FidelityOptions
from trialbed_fidelity.cli import FORMATS, PARTS, command

OPTIONS = {option.name: option for option in command.params if isinstance(option, click.Option)}


def test_the_command_offers_every_part_and_format() -> None:
    assert PARTS == ALL_PARTS
    assert FORMATS == ("table", "markdown", "json")


def test_the_defaults_are_those_of_the_python_api() -> None:
    defaults = FidelityOptions()
    assert OPTIONS["tools"].default == defaults.tools
    assert OPTIONS["many"].default == defaults.many
    assert OPTIONS["rounds"].default == defaults.rounds
    assert OPTIONS["concurrencies"].default == defaults.concurrencies
    assert OPTIONS["executor"].default == defaults.executor


def test_a_variable_that_is_meant_for_runs_changes_no_measurement() -> None:
    for name in ("concurrencies", "output"):
        assert OPTIONS[name].envvar is None


def test_the_reference_comes_first_and_once() -> None:
    assert FidelityOptions(frameworks=("b", "reference", "a", "b")).labels == ("reference", "b", "a")
    assert FidelityOptions().labels == ("reference",)
