"""Open and closed trials."""

from __future__ import annotations

import pytest

from trialbed.records import TrialRegistration
from trialbed_server._clock import SystemClock
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.trials import Trial, TrialConflict, TrialGone, TrialRegistry, TrialUnknown
from trialbed_server.virtual.catalog import Catalog


def trial(token: str, *, ambient: bool = False) -> Trial:
    registration = TrialRegistration(trial=token, model="scripted:gold", ambient=ambient)
    return Trial(registration, Catalog([], TemplateSimulator()), SystemClock())


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
