"""Running checks, and holding an adapter's declarations against them."""

from __future__ import annotations

import time

from support.cases import for_each

from trialbed import Deviation
from trialbed_adapter_lab import CHECKS, CheckFailed, Kit, Probe, check_adapter
from trialbed_adapter_lab.probe import Theme
from trialbed_plugins.frameworks.reference import ReferenceAgent

OWN = Theme("own", "Checks of this test.")


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
    return getattr(OWN, level)(reason="Because.", hint="Do it.", **binds)(run)


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
    check = OWN.must(binds="controlled", reason="Because.", hint="Do it.")(fails)
    with Kit(ReferenceAgent, [check], profile=profile) as kit:
        finding = kit.run(check)
    assert (finding.level, finding.outcome, finding.ok) == (level, outcome, profile != "controlled")
    assert ("hint" in finding.message) == (profile == "controlled")


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


def test_a_loop_that_is_blocked_fails_the_check_and_says_where(monkeypatch):
    class Blocking(ReferenceAgent):
        async def answer(self, query):
            time.sleep(60)  # noqa: ASYNC251 - what it is about

    async def blocked(harness):
        """Plays a trial."""
        await harness.run("never")

    monkeypatch.setattr("trialbed_adapter_lab._kit.BLOCKED", 1.5)
    with Kit(Blocking, []) as kit:
        finding = kit.run(made("must", blocked))
        assert finding.outcome == "failed"
        assert "it was blocked for 1.5 s in" in finding.message
        assert "time.sleep(60)" in finding.message
        assert kit.run(made("must", passes)).outcome == "passed"


class Twice(ReferenceAgent):
    """Runs its agent twice."""

    async def answer(self, query):
        await super().answer(query)
        return await super().answer(query)


def failing(agent: type[ReferenceAgent], *names: str):
    checks = [check for check in CHECKS if check.name in names]
    return check_adapter(agent, checks).findings


def test_an_agent_that_is_run_twice_is_told_so():
    one, other = failing(Twice, "plain_answer", "claimed_turns_are_right")
    assert one.cause == other.cause == "the model is asked again after its answer"
    assert "hint: Run the framework's agent once" in one.message
