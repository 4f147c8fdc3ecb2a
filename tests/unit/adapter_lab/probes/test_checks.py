"""The table of checks."""

from __future__ import annotations

import re
from collections import Counter
from typing import get_args

from trialbed_adapter_lab import CHECKS, LEVELS, Level
from trialbed_adapter_lab.probe import probes_of
from trialbed_adapter_lab.probes import THEMES
from trialbed_adapter_lab.probes.invariants import EVERYWHERE


def test_there_are_enough_and_each_has_its_own_name():
    assert len(CHECKS) >= 45
    assert [name for name, times in Counter(check.name for check in CHECKS).items() if times > 1] == []


def test_a_check_says_what_why_and_how():
    for check in CHECKS:
        assert re.fullmatch(r"[a-z][a-z_]+", check.name)
        for text in (check.summary, check.reason, check.hint):
            assert text[0].isupper() or text.startswith("tool."), check.name
            assert text.endswith("."), check.name
            assert "\n" not in text, check.name


def test_every_theme_has_checks_and_every_level_is_used():
    assert all(map(probes_of, THEMES))
    assert {check.level for check in CHECKS} == set(LEVELS) == {*get_args(Level)} - {"info"}


def test_who_was_talked_to_is_looked_at_last():
    assert CHECKS[-1].name == "only_the_rig_is_talked_to"


def test_invariants_are_looked_at_after_all_other_trials_but_those_of_policies() -> None:
    *_, policies, last = names = [check.name for check in CHECKS]
    assert names[-2 - len(EVERYWHERE) : -2] == [check.name for check in EVERYWHERE]
    assert (policies, last) == ("scripted_models_take_their_turns", "only_the_rig_is_talked_to")
