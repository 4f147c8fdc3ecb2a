"""Open and closed trials."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.records import TrialRegistration
from trialbed_server._clock import SystemClock
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import OpenTrial, TrialConflict, TrialGone, TrialRegistry, TrialUnknown


class SetClock(SystemClock):
    """Shows the time that it is set to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def trial(token: str, clock: SystemClock | None = None, **fields: Any) -> OpenTrial:
    registration = TrialRegistration(trial=token, model="scripted:gold", **fields)
    return OpenTrial(registration, TargetCatalog([], TemplateSimulator()), clock or SystemClock())


def test_a_trial_is_found_until_it_is_closed_and_never_opened_again() -> None:
    registry = TrialRegistry()
    opened = trial("one")
    registry.open(opened)
    assert registry.of("one") is opened
    assert registry.close("one") is opened
    for use in (registry.of, registry.close):
        with pytest.raises(TrialGone):
            use("one")
    with pytest.raises(TrialConflict):
        registry.open(trial("one"))
    with pytest.raises(TrialUnknown):
        registry.of("two")


def test_requests_without_a_token_belong_to_the_one_ambient_trial() -> None:
    registry = TrialRegistry()
    ambient = trial("one", ambient=True)
    assert registry.of(None) is None
    registry.open(ambient)
    registry.open(trial("two"))
    assert registry.of(None) is ambient
    with pytest.raises(TrialConflict, match="another ambient trial"):
        registry.open(trial("three", ambient=True))
    registry.close("one")
    assert registry.of(None) is None
    assert len(registry) == 1
    registry.open(trial("four", ambient=True))


def test_a_trial_that_is_not_renewed_expires_though_it_is_used() -> None:
    clock, registry = SetClock(), TrialRegistry()
    leased = trial("leased", clock, lease=60, ambient=True)
    registry.open(leased)
    clock.now = 59
    leased.renew()
    clock.now = 118
    with leased.in_use():
        assert registry.of(None) is leased
    with pytest.raises(TrialConflict, match="expires in 1 s") as conflict:
        registry.open(trial("next", clock, ambient=True))
    assert conflict.value.expires_in == 1
    clock.now = 119
    assert registry.of(None) is None
    for use in (registry.find, registry.close):
        with pytest.raises(TrialGone, match="expired"):
            use("leased")
    registry.open(trial("next", clock, ambient=True))
    assert len(registry) == 1


def test_a_trial_without_a_lease_expires_when_it_is_idle() -> None:
    clock, registry = SetClock(), TrialRegistry(idle=100)
    registry.open(idle := trial("idle", clock))
    registry.open(trial("unused", clock, ambient=True))
    with idle.in_use():
        clock.now = 500
        assert registry.find("idle") is idle
    clock.now = 599
    registry.open(trial("next", clock, ambient=True))
    assert registry.find("idle") is idle
    clock.now = 600
    registry.expire()
    assert len(registry) == 1
    with pytest.raises(TrialGone, match="expired"):
        registry.find("idle")
