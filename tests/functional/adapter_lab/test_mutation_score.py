"""The mutation score: a check fails for the mutants, and the first failure names their cause."""

from __future__ import annotations

import gc
import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import pytest
from support.mutants import MUTANTS, Mutant
from support.mutants._causes import names_cause
from support.mutants._score import SHORT, hurried, judge_named, recorded_verdicts

import trialbed_adapter_lab
from trialbed_adapter_lab import CHECKS, Probe, check_adapter
from trialbed_adapter_lab.harness import Harness
from trialbed_adapter_lab.probe import Theme
from trialbed_adapter_lab.probes import limits

FAILED, NAMED = 0.95, 0.85
"""The least shares of mutants for which a check fails, and whose cause the first failure names."""

WHOLE, HEAD = 1, 30
"""Mutants that are tried with the whole kit each time, and with the check that heads their report."""

NEAR = 15
"""Checks before the one that heads a report: most of what an adapter keeps from earlier trials shows after these."""

BEFORE = {
    "ClaimsFiftyCalls": "very_long_trial",
    "ClaimsTexts": "argument_types_are_kept",
    "ForgetsUsageAtTheLimit": "step_limit_is_kept",
    "KeepsFiftyTurns": "very_long_trial",
    "LooksModelsUpAtTimes": "mistaken_arguments_go_back",
    "RepeatsAfterNothing": "json_result_is_not_rewritten",
    "TakesTheFirstText": "calls_beside_text_are_made",
}
"""Mutant -> a check whose trials its breach is in, if the trials near are sound."""

RECORD = recorded_verdicts()
BY_NAME = {check.name: check for check in CHECKS}
BY_CLASS = {mutant.__name__: mutant for mutant in MUTANTS}
NAME = attrgetter("__name__")
SOURCES = (Path(str(trialbed_adapter_lab.__file__)).parent, Path(__file__).parents[2] / "support" / "mutants")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def sample(names: list[str], size: int) -> list[str]:
    """Some of these names: others after each change of the kit or of the mutants, and until then the same."""
    digest = hashlib.sha256()
    for file in sorted(file for folder in SOURCES for file in folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return sorted(names, key=lambda name: hashlib.sha256(digest.digest() + name.encode()).digest())[:size]


def test_every_mutant_is_recorded_under_its_cause() -> None:
    recorded = {name: defect.cause for name, defect in RECORD.items()}
    assert {mutant.__name__: mutant.cause for mutant in MUTANTS} == recorded
    assert len(RECORD) >= 200


def test_the_score_is_what_it_is_to_be() -> None:
    failed = [defect for defect in RECORD.values() if defect.failed]
    named = [defect for defect in failed if names_cause(defect.name, defect.first)]
    assert len(failed) / len(RECORD) >= FAILED
    assert len(named) / len(RECORD) >= NAMED
    assert {defect.name for defect in failed if defect.named} == {defect.name for defect in named}


@contextmanager
def tried(mutant: type[Mutant]) -> Iterator[None]:
    """Try a mutant without its warnings, and forget what it kept."""
    with warnings.catch_warnings(), hurried():
        warnings.simplefilter("ignore")
        yield
        mutant.forget()
        gc.collect()


def attempts(mutant: str, first: str) -> Iterator[list[Probe]]:
    """Ever more checks, the last of which is the one that heads its report; at the end all up to that one.

    Breaches of invariants, and what an adapter keeps from earlier trials, may need the checks before.
    """
    place = [check.name for check in CHECKS].index(first)
    yield [CHECKS[place]]
    yield [BY_NAME[BEFORE[mutant]], CHECKS[place]] if mutant in BEFORE else [*CHECKS[max(0, place - NEAR) : place + 1]]
    yield [*CHECKS[: place + 1]]


@pytest.mark.slow(90)
@pytest.mark.parametrize("name", sample([name for name, defect in RECORD.items() if defect.first], HEAD))
def test_what_heads_a_mutants_report_still_reports_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mutant, defect = BY_CLASS[name], RECORD[name]
    monkeypatch.chdir(tmp_path)
    for checks in attempts(name, defect.first):
        with tried(mutant):
            *_, found = check_adapter(mutant, checks, profile="controlled").findings
        if found.outcome != "passed":
            break
    assert found.outcome == ("failed" if defect.failed else "finding"), found.message


@pytest.mark.slow(90)
@pytest.mark.parametrize("mutant", [one for one in MUTANTS if not RECORD[one.__name__].first], ids=NAME)
def test_a_mutant_that_is_recorded_as_unreported_still_passes_the_probes_of_its_cause(
    mutant: type[Mutant], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    checks = [check for check in CHECKS if names_cause(mutant.__name__, check.name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check_adapter(mutant, checks, profile="controlled")
    mutant.forget()
    assert checks
    assert {finding.check for finding in report.findings if finding.outcome != "passed"} == set()


@pytest.mark.slow(60)
# A mutant that waits so many seconds by the clock fails further checks on a busy machine.
@pytest.mark.parametrize("name", sample([name for name in RECORD if "Second" not in name], WHOLE))
def test_the_whole_kit_reports_a_sample_as_it_is_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = RECORD[name]
    verdict = judge_named(name, {*recorded.failed, *recorded.found})
    assert (verdict.first, {*verdict.failed}) == (recorded.first, {*recorded.failed})


def test_only_checks_that_are_to_fail_wait_less(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = {}

    async def doomed(_: Harness) -> None:
        """It fails."""
        patience["doomed"] = limits.PROMPT

    async def sound(_: Harness) -> None:
        """It passes."""
        patience["sound"] = limits.PROMPT

    checks = [Theme("own", "").must(reason="Because.", hint="Do it.")(run) for run in (doomed, sound)]
    monkeypatch.setattr("support.mutants._score.CHECKS", checks)
    judge_named(MUTANTS[0].__name__, {"doomed"})
    assert patience == {"doomed": SHORT, "sound": limits.PROMPT}
    assert limits.PROMPT > SHORT
