"""Open trials."""

from __future__ import annotations

from typing import Any

import pytest
from support.clocks import SleepingClock

from trialbed.records import TrialRegistration, UserTurn
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import (
    LogBudget,
    OpenTrial,
    Setups,
    TrialConflict,
    TrialRefused,
    TrialRegistry,
    TrialSetup,
)


def test_a_trial_keeps_only_so_much_in_all() -> None:
    budget = LogBudget(body=10, trial=15)
    assert budget.keep("1234567890") == "1234567890"
    assert budget.keep("1234567890").startswith("12345…[cut: 5 of 10")
    assert budget.keep("x") == "…[cut: 0 of 1 characters kept]"


def test_values_are_kept_whole_or_as_cut_text() -> None:
    budget = LogBudget(body=20)
    assert budget.keep_value({"a": [1, None]}) == {"a": [1, None]}
    assert budget.keep_value({"a": "x" * 30}) == '{"a": "xxxxxxxxxxxxx…[cut: 20 of 39 characters kept]'
    assert budget.keep_value(5) == 5


def trial(token: str, clock: SleepingClock | None = None, **fields: Any) -> OpenTrial:
    registration = TrialRegistration(trial=token, model="scripted:gold", **fields)
    return OpenTrial(registration, TargetCatalog([], TemplateSimulator()), clock or SleepingClock())


def test_the_time_that_a_user_takes_for_a_message_counts_as_waiting() -> None:
    clock = SleepingClock()
    talking = trial("talking", clock, turns=(UserTurn(text="Hello"), UserTurn(text="Bye")))
    clock.time = 1000.0 + 10
    assert talking.take_answer("Yes?")
    clock.time = 1000.0 + 100
    assert talking.waited() == 90
    talking.say("Bye")
    clock.time = 1000.0 + 150
    assert talking.waited() == 90
    assert [turn.waited for turn in talking.turns] == [0, 90]
    assert not talking.log_so_far().turns[1].answer


def test_a_trial_that_is_not_renewed_expires_though_it_is_used() -> None:
    clock, registry = SleepingClock(), TrialRegistry()
    leased = trial("leased", clock, lease=60, ambient=True)
    registry.open(leased)
    clock.time = 1000.0 + 59
    leased.renew()
    clock.time = 1000.0 + 118
    with leased.in_use():
        assert registry.of(None) is leased
    with pytest.raises(TrialConflict, match="expires in 1 s"):
        registry.open(trial("next", clock, ambient=True))
    clock.time = 1000.0 + 119
    assert registry.of(None) is None
    for use in (registry.find, registry.close):
        with pytest.raises(TrialRefused, match="expired"):
            use("leased")
    registry.open(trial("next", clock, ambient=True))
    assert len(registry) == 1


def test_a_trial_without_a_lease_expires_when_it_is_idle() -> None:
    clock, registry = SleepingClock(), TrialRegistry(idle=100)
    registry.open(idle := trial("idle", clock))
    registry.open(trial("unused", clock, ambient=True))
    with idle.in_use():
        clock.time = 1000.0 + 500
        assert registry.find("idle") is idle
    clock.time = 1000.0 + 599
    registry.open(trial("next", clock, ambient=True))
    assert registry.find("idle") is idle
    clock.time = 1000.0 + 600
    registry.expire()
    assert len(registry) == 1
    with pytest.raises(TrialRefused, match="expired"):
        registry.find("idle")


SIMULATOR = TemplateSimulator()


def document(**fields: Any) -> dict[str, Any]:
    return {"trial": "one", "model": "scripted:gold", "keep": True, **fields}


def setup(by: TemplateSimulator = SIMULATOR, **fields: Any) -> TrialSetup:
    registration = TrialRegistration.model_validate(document(**fields))
    return TrialSetup(registration, TargetCatalog([], by), by)


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    setups = Setups(most=250)
    first, second = (setups.keep(document(state="x" * 30 + name), setup()) for name in "ab")
    assert setups.find(first) is not None
    third = setups.keep(document(state="x" * 30 + "c"), setup())
    assert [setups.find(name) is not None for name in (first, second, third)] == [True, False, True]
    assert setups.keep(document(state="x" * 30 + "a"), setup()) == first
    assert setups.find(third) is not None
    setups.keep(document(state="x" * 300), setup())
    assert all(setups.find(name) is None for name in (first, third))
