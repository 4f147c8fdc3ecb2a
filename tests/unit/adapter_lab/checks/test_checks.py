"""The table of checks."""

from __future__ import annotations

import re
from collections import Counter
from typing import get_args

import pytest

from trialbed_adapter_lab import CHECKS, LEVELS, Check, Level
from trialbed_adapter_lab.checks import THEMES


def test_there_are_enough_and_each_has_its_own_name():
    assert len(CHECKS) >= 45
    assert [name for name, times in Counter(check.name for check in CHECKS).items() if times > 1] == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_says_what_why_and_how(check: Check):
    assert re.fullmatch(r"[a-z][a-z_]+", check.name)
    for text in (check.summary, check.reason, check.hint):
        assert text[0].isupper() or text.startswith("tool.")
        assert text.endswith(".")
        assert "\n" not in text


def test_every_check_of_a_theme_is_listed():
    for theme in THEMES:
        made = {item.name for item in vars(theme).values() if isinstance(item, Check)}
        assert {check.name for check in theme.CHECKS} == made, theme.__name__


def test_checks_know_their_theme_and_level():
    assert {check.theme for check in CHECKS} == {theme.__name__.rpartition(".")[2] for theme in THEMES}
    assert {check.level for check in CHECKS} == set(LEVELS) == set(get_args(Level))


def test_who_was_talked_to_is_looked_at_last():
    assert CHECKS[-1].name == "only_the_rig_is_talked_to"
