"""Which environment variables are called misspelt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trialbed.cli import cli
from trialbed.cli._variables import misspelt_variables

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("variable", "command", "meant"),
    [
        ("TRIALBED_MODLE", "run", "TRIALBED_MODEL"),
        ("TRIALBED_STATE_DRI", "doctor", "TRIALBED_STATE_DIR"),
        ("TRIALBED_SERVER_TOKN", "serve", "TRIALBED_SERVER_TOKEN"),
    ],
)
def test_a_variable_that_is_like_a_known_one_is_misspelt(variable: str, command: str, meant: str) -> None:
    assert misspelt_variables([variable, "PATH"], command, cli) == {variable: meant}


def test_variables_that_no_command_would_read_and_those_of_others_are_left_alone() -> None:
    given = ["TRIALBED_MODEL", "TRIALBED_RPM", "TRIALBED_TEST_DATA", "MODLE", "TRIALBED_MINE_ALONE"]
    assert misspelt_variables(given, "run", cli) == {}


def test_no_variable_that_the_sources_name_is_called_misspelt() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for root in ("core", "server", "plugins")
        for path in (ROOT / root).rglob("*.py")
    ]
    named = {name for text in texts for name in re.findall(r'"(TRIALBED_[A-Z_]*[A-Z])"', text)}
    assert {"TRIALBED_STATE_DIR", "TRIALBED_MEMORY_LIMIT"} <= named
    for command in ("run", "serve", "verify"):
        assert misspelt_variables(named, command, cli) == {}
