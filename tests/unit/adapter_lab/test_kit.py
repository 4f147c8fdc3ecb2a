"""Running checks, and holding an adapter's declarations against them."""

from __future__ import annotations

import asyncio
import threading
import time

from support.cases import for_each

from trialbed import Deviation
from trialbed_adapter_lab import CHECKS, CheckFailed, Kit, Probe, _kit, check_adapter
from trialbed_adapter_lab.probe import may, must, should
from trialbed_plugins.frameworks.reference import ReferenceAgent


async def passes(harness):
    """It passes."""


async def fails(harness):
    """It fails."""
    raise CheckFailed("expected one; seen: two")


async def breaks(harness):
    """It breaks."""
    raise KeyError("a mistake of the kit")


def made(level, run) -> Probe:
    binds = {} if level == "may" else {"binds": "all"}
    return {"must": must, "should": should, "may": may}[level](reason="Because.", hint="Do it.", **binds)(run)


def declaring(*deviations: Deviation) -> type[ReferenceAgent]:
    return type("Declaring", (ReferenceAgent,), {"deviations": deviations})


def found(check: Probe, *deviations: Deviation):
    with Kit(declaring(*deviations), [check]) as kit:
        return kit.run(check)


FAILS = Deviation(check="fails", text="cannot count", upstream="https://example.org/1")


@for_each(
    ("level", "run", "declared", "outcome"),
    [
        ("must", passes, (), "passed"),
        ("must", fails, (), "failed"),
        ("must", fails, (FAILS,), "declared"),
        ("should", fails, (), "failed"),
        ("should", fails, (FAILS,), "declared"),
        ("may", fails, (), "finding"),
        ("may", fails, (FAILS,), "declared"),
        ("must", passes, (Deviation(check="passes", text="cannot"),), "outdated"),
        ("should", passes, (Deviation(check="passes", text="cannot"),), "outdated"),
        ("should", breaks, (), "error"),
        ("should", breaks, (Deviation(check="breaks", text="cannot"),), "error"),
        ("should", passes, (Deviation(text="says hello"), FAILS), "passed"),
    ],
)
def test_an_outcome_is_seen_in_the_light_of_what_is_declared(level, run, declared, outcome):
    finding = found(made(level, run), *declared)
    assert (finding.check, finding.level, finding.outcome) == (run.__name__, level, outcome)


def test_a_failure_says_what_why_and_how():
    assert found(made("should", fails)).message == "expected one; seen: two\nwhy: Because.\nhint: Do it."


@for_each(
    ("profile", "level", "outcome"),
    [
        ("controlled", "must", "failed"),
        ("native", "may", "finding"),
        ("own", "may", "finding"),
        (None, "may", "finding"),
    ],
)
def test_what_binds_the_controlled_profile_is_a_finding_of_any_other(profile, level, outcome):
    check = must(binds="controlled", reason="Because.", hint="Do it.")(fails)
    with Kit(ReferenceAgent, [check], profile=profile) as kit:
        finding = kit.run(check)
    assert (finding.level, finding.outcome, finding.ok) == (level, outcome, profile != "controlled")
    assert ("hint" in finding.message) == (profile == "controlled")


def test_the_profile_is_the_one_in_the_frameworks_name():
    check = must(binds="controlled", reason="Because.", hint="Do it.")(fails)
    agent = type("it:controlled", (ReferenceAgent,), {})
    assert not check_adapter(agent, [check]).ok
    assert check_adapter(agent, [check], profile="native").ok


@for_each("level", ["must", "should"])
def test_a_declared_failure_says_what_is_declared_and_seen(level):
    declared = found(made(level, fails), FAILS)
    assert (declared.outcome, declared.ok, declared.level) == ("declared", True, level)
    assert declared.message == "cannot count (https://example.org/1)\nexpected one; seen: two"


def test_an_outdated_declaration_says_what_to_do():
    message = found(made("should", passes), Deviation(check="passes", text="cannot")).message
    assert message == (
        "deviations declares 'passes' (cannot), but the check passes: the declaration is no longer true; remove it"
    )


def test_an_error_of_the_kit_shows_where_it_was():
    message = found(made("should", breaks)).message
    assert "KeyError: 'a mistake of the kit'" in message
    assert "in breaks" in message


def test_a_report_has_the_findings_and_the_declarations_that_name_no_check():
    seen = []
    checks = [check for check in CHECKS if check.name in ("plain_answer", "nothing_is_printed")]
    report = check_adapter(declaring(FAILS), checks, progress=seen.append)
    assert [(finding.check, finding.outcome) for finding in report.findings] == [
        ("plain_answer", "passed"),
        ("nothing_is_printed", "passed"),
        ("fails", "outdated"),
    ]
    assert tuple(seen) == report.findings
    assert (report.framework, report.ok) == ("Declaring", False)
    assert "no check has this name" in report.findings[-1].message


def test_checks_share_one_event_loop_as_trials_in_a_worker_do():
    loops = []

    async def first(harness):
        """First."""
        loops.append(asyncio.get_running_loop())

    async def second(harness):
        """Second."""
        loops.append(asyncio.get_running_loop())

    with Kit(ReferenceAgent, []) as kit:
        kit.run(made("must", first))
        kit.run(made("must", second))
    assert loops[0] is loops[1]


def test_tasks_that_a_check_leaves_are_ended_before_the_next():
    tasks = []

    async def leaves(harness):
        """Leaves a task."""
        tasks.append(asyncio.create_task(asyncio.sleep(3600)))

    with Kit(ReferenceAgent, []) as kit:
        kit.run(made("must", leaves))
        assert tasks[0].cancelled()


def test_a_loop_that_is_blocked_fails_the_check_and_says_where(monkeypatch):
    class Blocking(ReferenceAgent):
        async def answer(self, query):
            time.sleep(60)  # noqa: ASYNC251 - what it is about

    async def blocked(harness):
        """Plays a trial."""
        await harness.run("never")

    monkeypatch.setattr(_kit, "BLOCKED", 1.5)
    with Kit(Blocking, []) as kit:
        finding = kit.run(made("must", blocked))
        assert finding.outcome == "failed"
        assert "it was blocked for 1.5 s in" in finding.message
        assert "time.sleep(60)" in finding.message
        assert kit.run(made("must", passes)).outcome == "passed"


def test_a_thread_that_never_ends_does_not_keep_the_kit():
    over = threading.Event()

    class Idle(ReferenceAgent):
        def answer(self, query):
            over.wait(60)

    async def idle(harness):
        """Plays a trial."""
        await harness.run("never", timeout=0.2)

    try:
        with Kit(Idle, []) as kit:
            assert kit.run(made("must", idle)).outcome == "failed"
    finally:
        over.set()


class Twice(ReferenceAgent):
    """Runs its agent twice."""

    async def answer(self, query):
        await super().answer(query)
        return await super().answer(query)


class Unbound(ReferenceAgent):
    """Takes no address of the server."""

    def bind_tools(self, tools):
        """Never called as it is."""


class Number(ReferenceAgent):
    """Returns a number."""

    async def answer(self, query):
        await super().answer(query)
        return 42


def failing(agent: type[ReferenceAgent], *names: str):
    checks = [check for check in CHECKS if check.name in names]
    return check_adapter(agent, checks).findings


def test_an_agent_that_is_run_twice_is_told_so():
    one, other = failing(Twice, "plain_answer", "claimed_turns_are_right")
    assert one.cause == other.cause == "the model is asked again after its answer"
    assert "hint: Run the framework's agent once" in one.message


def test_checks_whose_trial_fails_before_they_begin_have_its_cause():
    names = ("plain_answer", "cancelled_during_a_tool", "trial_after_a_cancelled_one", "event_loop_stays_free")
    findings = failing(Unbound, *names)
    assert [finding.check for finding in findings] == list(names)
    (cause,) = {finding.cause for finding in findings}
    assert cause == "the trial fails before it asks the model, with TypeError"
    assert all("Unbound.bind_tools() got an unexpected" in finding.message for finding in findings)
    assert all("hint: Fix what ended the trial first" in finding.message for finding in findings)


def test_an_answer_of_another_type_is_told_as_such():
    (finding,) = failing(Number, "plain_answer")
    assert finding.cause == "the trial fails with a malformed answer"
    assert "not a value of type int" in finding.message
