"""What follows from the declaration of a run's setting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from support.cases import for_each
from support.memory_runs import result_document
from support.trials import changed_config, run_config, run_of

from trialbed.cli import cli
from trialbed.preparation import RunOptions, config_digest
from trialbed.records import RunConfig
from trialbed.report import document_schema
from trialbed.settings import Declared, FactorSettings, IdentitySettings, RunSettings, declared_settings

SETTINGS = declared_settings()
CONFIG = run_config()
each_setting = for_each("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])


def other_value(setting: Declared) -> Any:
    """A value that is not the default."""
    if setting.setting.choices:
        return next(choice for choice in setting.setting.choices if choice != setting.default)
    if setting.below is not None:
        return setting.below / 2
    value: Any = {str: "other", int: 7, float: 7.5, Path: Path("other"), bool: True}[setting.kind]
    return (value,) if setting.repeatable else value


def changed(setting: Declared) -> RunConfig:
    """The configuration with another value of a setting."""
    value = other_value(setting)
    is_one = setting.name in FactorSettings.__dataclass_fields__ and setting.name != "frameworks"
    return changed_config(CONFIG, **{setting.name: value[0] if is_one else value})


def option(setting: Declared) -> click.Option:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    found = [item for item in run.params if setting.name == item.name]
    assert len(found) == 1
    assert isinstance(found[0], click.Option)
    return found[0]


def parsed(arguments: list[str]) -> Mapping[str, Any]:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    return run.make_context("run", arguments).params


def about(config: RunConfig) -> dict[str, Any]:
    return result_document(run_of(config), "reference", {}, [], {})["metadata"]


@each_setting
def test_a_setting_has_its_option_and_variable(setting: Declared, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = option(setting)
    assert declared.opts == list(setting.setting.option)
    assert declared.help
    monkeypatch.setattr("os.environ", {})
    assert parsed([])[setting.name] == setting.default
    value = other_value(setting)
    text = str(value[0] if setting.repeatable else value)
    given = [] if setting.kind is bool else [text]
    assert parsed([setting.setting.option[-1], *given])[setting.name] == value
    monkeypatch.setattr("os.environ", {f"TRIALBED_{setting.key.replace('-', '_').upper()}": text})
    assert parsed([])[setting.name] == value


@each_setting
def test_a_setting_is_part_of_the_identity_as_declared(setting: Declared) -> None:
    assert setting.identity == any(
        setting.name in part.__dataclass_fields__ for part in (FactorSettings, IdentitySettings)
    )
    if setting.identity:
        assert config_digest(changed(setting)) != config_digest(CONFIG)
    # Fields of these names in the configuration are the ids and the tags of the queries that are chosen.
    elif setting.name not in ("query_ids", "tags"):
        assert setting.name not in RunConfig.model_fields


@each_setting
def test_a_setting_stands_in_the_document_as_declared(setting: Declared) -> None:
    schema = document_schema()["properties"]["metadata"]
    if not setting.document:
        assert setting.setting.document in ("", None)
        return
    value = other_value(setting)
    shown = value[0] if setting.name in FactorSettings.__dataclass_fields__ else value
    assert about(changed(setting))[setting.document] == shown
    assert setting.document in schema["required"]
    assert schema["properties"][setting.document]["description"]


def test_what_is_asked_for_without_options_is_the_default() -> None:
    assert RunOptions() == RunOptions(**vars(RunSettings()))
    assert RunOptions().frameworks == ("reference",)


@for_each("wrong", [("--repeat", "0"), ("--timeout", "0"), ("--temperature", "nan"), ("--seed", "x")])
def test_a_value_out_of_bounds_is_refused_where_it_is_given(wrong: tuple[str, str]) -> None:
    option, value = wrong
    with pytest.raises(click.BadParameter):
        parsed([option, value])
    with pytest.raises(ValueError, match="validation error"):
        RunConfig(**CONFIG.model_dump() | {option[2:]: value})


def test_a_setting_that_came_later_counts_only_where_it_is_set() -> None:
    """So a run that was begun before the setting was added is found by its digest."""

    class Later(RunConfig):
        colour: str = "red"

    later = Later(**CONFIG.model_dump())
    assert config_digest(later) == config_digest(CONFIG)
    assert config_digest(later.model_copy(update={"colour": "blue"})) != config_digest(CONFIG)
