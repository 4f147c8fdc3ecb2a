"""Which environment variables are called misspelt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trialbed.cli._settings import OTHERS, PREFIX, misspelt_variables
from trialbed.settings import declared_settings

ROOT = Path(__file__).parents[4]

SETTINGS = ROOT / "docs" / "reference" / "configuration.md"


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TRIALBED_MODLE", "TRIALBED_MODEL"),
        ("TRIALBED_STATE_DRI", "TRIALBED_STATE_DIR"),
        ("TRIALBED_SERVER_TOKN", "TRIALBED_SERVER_TOKEN"),
        ("TRIALBED_REPEATS", "TRIALBED_REPEAT"),
        ("TRIALBED_UPSTREAM_KYE", "TRIALBED_UPSTREAM_KEY"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_one_that_is_meant(variable: str, meant: str) -> None:
    assert misspelt_variables([variable, "PATH"]) == {variable: meant}


def test_variables_that_resemble_none_are_left_alone() -> None:
    given = ["TRIALBED_MODEL", "TRIALBED_RPM", "MODLE", "TRIALBED_MINE_ALONE_KEY", "TRIALBED_XYZZY"]
    assert misspelt_variables(given) == {}


def test_no_variable_that_the_sources_or_the_docs_name_is_called_misspelt() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for root in ("core", "server", "plugins")
        for path in (ROOT / root).rglob("*.py")
    ]
    named = {name for text in texts for name in re.findall(r'"(TRIALBED_[A-Z_]*[A-Z])"', text)}
    rows = {*re.findall(r"^\| `--[^|]*\| `(TRIALBED_\w+)` \|", SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)}
    assert {"TRIALBED_STATE_DIR", "TRIALBED_MEMORY_LIMIT"} <= named
    assert misspelt_variables(named | rows) == {}
    assert rows <= {*(PREFIX + name for name in OTHERS.split()), *(item.variable for item in declared_settings())}
