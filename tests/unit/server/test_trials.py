"""Open trials."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.contracts import World
from trialbed.records import TrialOpening, TrialRegistration, UserTurn
from trialbed_server._clock import SystemClock
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


def test_a_body_over_the_bound_is_cut_with_a_marker() -> None:
    budget = LogBudget(body=5)
    assert budget.keep("12345") == "12345"
    assert budget.keep("123456") == "12345…[cut: 5 of 6 characters kept]"


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


def test_half_characters_do_not_reach_the_log() -> None:
    budget = LogBudget()
    assert budget.keep("a\ud800b") == "a\ufffdb"
    assert budget.keep_value({"k\ud800": ["\udc00"]}) == {"k\ufffd": ["\ufffd"]}


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
        with pytest.raises(TrialRefused, match="closed"):
            use("one")
    with pytest.raises(TrialConflict):
        registry.open(trial("one"))
    with pytest.raises(TrialRefused, match="no trial has this token"):
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


def test_the_time_that_a_user_takes_for_a_message_counts_as_waiting() -> None:
    clock = SetClock()
    talking = trial("talking", clock, turns=(UserTurn(text="Hello"), UserTurn(text="Bye")))
    clock.now = 10
    assert talking.take_answer("Yes?")
    clock.now = 100
    assert talking.waited() == 90
    talking.say("Bye")
    clock.now = 150
    assert talking.waited() == 90
    assert [turn.waited for turn in talking.turns] == [0, 90]
    assert not talking.log_so_far().turns[1].answer


def test_a_trial_that_is_not_renewed_expires_though_it_is_used() -> None:
    clock, registry = SetClock(), TrialRegistry()
    leased = trial("leased", clock, lease=60, ambient=True)
    registry.open(leased)
    clock.now = 59
    leased.renew()
    clock.now = 118
    with leased.in_use():
        assert registry.of(None) is leased
    with pytest.raises(TrialConflict, match="expires in 1 s"):
        registry.open(trial("next", clock, ambient=True))
    clock.now = 119
    assert registry.of(None) is None
    for use in (registry.find, registry.close):
        with pytest.raises(TrialRefused, match="expired"):
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
    with pytest.raises(TrialRefused, match="expired"):
        registry.find("idle")


SIMULATOR = TemplateSimulator()


class Counter(World):
    """Counts in what it was given."""

    def __init__(self, state: dict[str, int]) -> None:
        self.given = state

    def call(self, api: Any, arguments: Any) -> int:
        self.given["count"] += 1
        return self.given["count"]

    def state(self) -> dict[str, int]:
        return self.given


class Counting(TemplateSimulator):
    def world_from(self, state: Any) -> World:
        return Counter(state)


def document(**fields: Any) -> dict[str, Any]:
    return {"trial": "one", "model": "scripted:gold", "keep": True, **fields}


def setup(by: TemplateSimulator = SIMULATOR, **fields: Any) -> TrialSetup:
    registration = TrialRegistration.model_validate(document(**fields))
    return TrialSetup(registration, TargetCatalog([], by), by)


def test_the_name_says_what_is_shared() -> None:
    setups = Setups()
    name = setups.keep(document(), setup())
    for own in ({"trial": "two"}, {"seed": 7}, {"fault_key": "x"}):
        assert setups.keep(document(**own), setup(**own)) == name
    for shared in ({"model": "scripted:parallel"}, {"state": 1}, {"lease": 2.5}, {"state": True}):
        assert setups.keep(document(**shared), setup(**shared)) != name


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


async def test_a_trial_has_its_own_token_seed_key_and_world() -> None:
    shared, clock = setup(Counting(), state={"count": 0}, seed=1, simulator="counting"), SystemClock()
    one = shared.trial(shared.registration, clock)
    two = shared.trial(TrialOpening(trial="two", setup="?", seed=2, fault_key="k"), clock)
    registration = two.registration
    assert (registration.trial, registration.seed, registration.fault_key) == ("two", 2, "k")
    assert (registration.simulator, two.catalog) == ("counting", one.catalog)
    assert one.hosted is not None
    await one.hosted.ask(lambda world: world.call(None, {}))  # type: ignore[arg-type]
    for trial in (one, two):
        await trial.end_world()
    assert (one.wire_log().state, two.wire_log().state, shared.registration.state) == (
        {"count": 1},
        {"count": 0},
        {"count": 0},
    )
