"""Which environment variables are called unknown."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from trialbed.cli import cli
from trialbed.cli._settings import own_variables, unknown_variables
from trialbed.errors import DriverError

ROOT = Path(__file__).parents[4]

SETTINGS = ROOT / "docs" / "reference" / "configuration.md"


@pytest.mark.parametrize(
    ("variable", "command", "meant"),
    [
        ("TRIALBED_MODLE", "run", "TRIALBED_MODEL"),
        ("TRIALBED_STATE_DRI", "doctor", "TRIALBED_STATE_DIR"),
        ("TRIALBED_SERVER_TOKN", "serve", "TRIALBED_SERVER_TOKEN"),
        ("TRIALBED_REPEATS", "models", "TRIALBED_REPEAT"),
        ("TRIALBED_JUDGE_BASE_URL", "run", "TRIALBED_BASE_URL"),
        ("TRIALBED_UPSTREAM_KYE", "run", "TRIALBED_UPSTREAM_KEY"),
        ("TRIALBED_XYZZY", "run", None),
    ],
)
def test_an_unknown_variable_is_named_with_the_one_that_is_meant(
    variable: str, command: str, meant: str | None
) -> None:
    assert unknown_variables([variable, "PATH"], command, cli) == {variable: meant}


def test_variables_of_other_commands_and_those_that_users_name_for_keys_are_left_alone() -> None:
    given = ["TRIALBED_MODEL", "TRIALBED_RPM", "MODLE", "TRIALBED_MINE_ALONE_KEY", "TRIALBED_TEST_DATA"]
    assert unknown_variables(given, "run", cli) == {}


def test_a_command_that_cannot_be_loaded_keeps_none_from_being_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DriverError("broken")

    group = click.Group(commands={"acme": click.Command("acme")})
    monkeypatch.setattr(group, "get_command", fail)
    meant = {"TRIALBED_WORKER_TRAILS": "TRIALBED_WORKER_TRIALS"}
    assert unknown_variables([*meant], "run", group) == meant


def test_no_variable_that_the_sources_name_is_called_unknown() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for root in ("core", "server", "plugins")
        for path in (ROOT / root).rglob("*.py")
    ]
    named = {name for text in texts for name in re.findall(r'"(TRIALBED_[A-Z_]*[A-Z])"', text)}
    assert {"TRIALBED_STATE_DIR", "TRIALBED_MEMORY_LIMIT"} <= named
    for command in ("run", "serve", "verify"):
        assert unknown_variables(named, command, cli) == {}


def test_no_command_is_imported_where_only_variables_of_options_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = sorted(own_variables())
    assert unknown_variables([*listed, "TRIALBED_XYZZY"], "run", cli) == {"TRIALBED_XYZZY": None}
    rows = re.findall(r"^\| `--[^|]*\| `(TRIALBED_\w+)` \|", SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)
    assert {*rows} - {"TRIALBED_ENV_DIR"} == {*listed}
    monkeypatch.setattr(cli, "get_command", None)
    assert unknown_variables(listed, "run", cli) == {}
