"""Requests that no model's turn explains, and settings and limits that are not kept, show."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import Behaviour, PolicyRequests, Requests

pytestmark = pytest.mark.slow(40)

AGENTS = (
    "repeats",
    "summarises",
    "reflects",
    "retries-refusals",
    "calls-twice",
    "goes-on",
    "gives-up-in-time",
    "in-sequence",
    "two-at-once",
    "first-call-only",
    "ignores-settings",
    "fails-now-and-then",
    "crashes",
)


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    return fidelity(*AGENTS, options=("--part", "behaviour"), code=1)


def behaviour(measured: Measured, framework: str) -> Behaviour:
    found = measured.of(framework).behaviour
    assert found is not None
    return found


def policy(found: Behaviour, name: str) -> PolicyRequests:
    (one,) = [one for one in (*found.turns, *found.refusals) if one.policy == name]
    return one


def requests(found: Behaviour, name: str) -> Requests:
    one = policy(found, name).requests
    assert one is not None
    return one


def test_a_faithful_framework_does_what_the_model_says(measured: Measured) -> None:
    found = behaviour(measured, "reference")
    for one in (*found.turns, *found.refusals):
        assert one.requests is not None
        assert (one.requests.seen, one.requests.extra) == (one.requests.expected, 0), one.policy
        assert one.calls_made == one.calls_sent, one.policy
    assert all(one.ended == "" for one in found.turns)
    assert found.parallel.at_once == found.parallel.asked
    assert found.settings is not None
    assert all(setting.honoured for setting in found.settings.settings)
    assert found.settings.others == {}
    assert found.step_limit.requests == found.step_limit.limit
    assert not found.step_limit.answered
    assert found.time_limit.killed


def test_repeated_requests_are_counted(measured: Measured) -> None:
    gold = requests(behaviour(measured, "repeats"), "gold")
    assert (gold.seen, gold.repeated, gold.aside, gold.beyond) == (8, 4, 0, 0)


def test_hidden_requests_are_counted(measured: Measured) -> None:
    gold = requests(behaviour(measured, "summarises"), "gold")
    assert (gold.seen, gold.repeated, gold.aside, gold.beyond) == (8, 0, 4, 0)


def test_a_request_after_the_answer_is_one_turn_too_many(measured: Measured) -> None:
    gold = requests(behaviour(measured, "reflects"), "gold")
    assert (gold.seen, gold.repeated, gold.aside, gold.beyond) == (5, 0, 0, 1)


def test_retries_after_a_refusal_are_counted(measured: Measured) -> None:
    found = behaviour(measured, "retries-refusals")
    for status in ("429", "500"):
        assert requests(found, status).seen == 3
        assert requests(found, status).repeated == 2
    assert requests(behaviour(measured, "reference"), "429").seen == 1
    assert "429" in policy(found, "429").ended


def test_calls_that_are_made_twice_are_counted(measured: Measured) -> None:
    gold = policy(behaviour(measured, "calls-twice"), "gold")
    assert (gold.calls_sent, gold.calls_made) == (3, 6)


def test_a_step_limit_that_is_not_kept_shows(measured: Measured) -> None:
    limit = behaviour(measured, "goes-on").step_limit
    assert (limit.requests, limit.refused, limit.limit, limit.answered) == (5, 1, 5, False)


def test_who_ended_a_trial_in_time_shows(measured: Measured) -> None:
    own, rigs = behaviour(measured, "gives-up-in-time").time_limit, behaviour(measured, "reference").time_limit
    assert not own.killed
    assert own.seconds < own.limit
    assert rigs.killed
    assert rigs.seconds > 0.5 * rigs.limit  # its clock is begun before the trial's


@pytest.mark.parametrize(
    ("framework", "at_once", "made"),
    [
        ("in-sequence", 1, 10),
        ("two-at-once", 2, 10),
        ("first-call-only", 1, 1),
    ],
)
def test_calls_that_are_not_made_at_once_show(measured: Measured, framework: str, at_once: int, made: int) -> None:
    found = behaviour(measured, framework).parallel
    assert (found.at_once, found.made) == (at_once, made)


def test_settings_that_do_not_arrive_show(measured: Measured) -> None:
    found = behaviour(measured, "ignores-settings").settings
    assert found is not None
    settings = {setting.name: (setting.honoured, setting.sent) for setting in found.settings}
    assert settings == {
        "model": (True, ("gpt-4o",)),
        "temperature": (False, (1.0,)),
        "seed": (False, ()),
        "max_tokens": (False, ()),
    }
    assert found.others == {"max_completion_tokens": (321,), "parallel_tool_calls": (False,)}


def test_trials_that_fail_are_named_with_their_reason(measured: Measured) -> None:
    found = behaviour(measured, "fails-now-and-then")
    failed = [one for one in found.turns if one.ended]
    assert len(failed) == 2
    assert all("every fourth trial fails" in one.ended for one in failed)


def test_a_framework_that_crashes_has_no_figures_and_costs_no_other_one(measured: Measured) -> None:
    found = measured.of("crashes")
    assert found.behaviour is None
    ((part, reason),) = [(missing.part, missing.reason) for missing in found.missing]
    assert part == "behaviour"
    assert "exit code 7" in reason
