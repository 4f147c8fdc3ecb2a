"""What trials have in common."""

from __future__ import annotations

from typing import Any

from trialbed.contracts import World
from trialbed.records import TrialOpening, TrialRegistration
from trialbed_server._clock import SystemClock
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import Setup, Setups

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


def setup(by: TemplateSimulator = SIMULATOR, **fields: Any) -> Setup:
    registration = TrialRegistration.model_validate(document(**fields))
    return Setup(registration, TargetCatalog([], by), by)


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
