"""Attacks are held if they cost what they may, and nobody else anything."""

from __future__ import annotations

from support.cases import for_each

from trialbed_adapter_lab.hostile import Attack, HostileReport
from trialbed_adapter_lab.hostile._suite import _result

CRASH = Attack("exit", "crash", "code 3", refused=("agent",))
INNOCENT = {"exit": "", "after exit": ""}
HELD = {"exit": "crash: exit code 3", "after exit": ""}


@for_each(
    ("innocent", "hostile", "refusable", "held"),
    [
        ({}, {}, False, True),
        ({}, {"exit": ""}, False, False),
        ({}, {"exit": "crash: exit code 4"}, False, False),
        ({}, {"exit": "memory: exit code 3"}, True, False),
        ({}, {"exit": "timeout: it took more than its 10 s"}, False, True),
        ({}, {"exit": "agent: PermissionError"}, True, True),
        ({}, {"exit": "agent: PermissionError"}, False, False),
        ({}, {"after exit": "crash: again"}, False, False),
        ({"exit": "crash: too"}, {}, False, False),
        ({"after exit": "crash: too"}, {}, False, False),
    ],
)
def test_an_attack_is_held_if_it_costs_its_own_trial_alone(innocent, hostile, refusable, held) -> None:
    result = _result(CRASH, INNOCENT | innocent, HELD | hostile, refusable=refusable)
    assert result.held is held
    assert HostileReport("reference", "none", (result,)).ok is held


def test_a_trial_that_is_not_there_is_no_success() -> None:
    result = _result(Attack("print"), {"print": "", "after print": ""}, {"print": ""}, refusable=False)
    assert (result.held, result.next) == (False, "no trial")
