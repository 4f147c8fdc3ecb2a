"""Every check can fail: adapters with one defect each are caught by the checks that are to catch them.

The mutation score tries the checks that head a mutant's report; a defect tries them only beside others.
"""

from __future__ import annotations

import gc
import os
import warnings

import pytest
from support.defects import DEFECTS
from support.defects.loop import NeedsTokens
from support.mutants import MUTANTS, Mutant
from support.mutants._score import hurried, recorded_verdicts

from trialbed_adapter_lab import CHECKS, check_adapter

BY_NAME = {check.name: check for check in CHECKS}
REPORTING = {name for mutant in recorded_verdicts().values() for name in (*mutant.failed, *mutant.found)}
"""Checks that report a mutant; the mutation score tries those anew that head a report, and of the others a sample."""


# What the defects leave open on purpose may be found at any time.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def cleaned_up(tmp_path, monkeypatch):
    """Undo what defects do to the process."""
    before = dict(os.environ)
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]
    for defect in (*DEFECTS, *MUTANTS):
        defect.forget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    gc.freeze()  # What is left is the process's own: the next collection need not pass over it again.


@pytest.fixture(autouse=True)
def impatient():
    with hurried():
        yield


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_defect_is_caught(defect: type[Mutant]) -> None:
    names = DEFECTS[defect]
    report = check_adapter(defect, [BY_NAME[name] for name in names], profile="controlled")
    outcomes = {name: "finding" if BY_NAME[name].level == "may" else "failed" for name in names}
    assert {finding.check: finding.outcome for finding in report.findings} == outcomes


def test_a_run_that_ends_with_an_error_claims_no_tokens() -> None:
    report = check_adapter(NeedsTokens, [BY_NAME["unknown_usage_is_none"]], profile="native")
    assert [finding.outcome for finding in report.findings] == ["passed"]


WITNESSES = {
    "connection_is_reused": "ConnectsAnewLater",
    "model_errors_are_not_retried": "RepeatsAfter503",
    "nothing_else_is_set": "StopsAtObservations",
    "written_calls_are_the_answer": "ReadsBareJson",
    "calls_beside_text_are_made": "EndsWithText",
    "calls_are_the_models": "StripsArguments",
    "turns_are_right_everywhere": "ClaimsCallsAsTurns",
}
"""Check -> a mutant that it reports; the mutation score says which others it does."""

BY_CLASS = {mutant.__name__: mutant for mutant in (*MUTANTS, *DEFECTS)}


@pytest.mark.parametrize(("check", "mutant"), WITNESSES.items())
def test_a_mutant_is_caught(check: str, mutant: str) -> None:
    (found,) = check_adapter(BY_CLASS[mutant], [BY_NAME[check]], profile="controlled").findings
    assert found.outcome == ("finding" if BY_NAME[check].level == "may" else "failed")


def test_what_a_framework_does_by_itself_is_a_finding_of_its_native_profile() -> None:
    checks = [check for check in CHECKS if check.binds == "controlled" and check.level != "may"]
    caught = {name for names in DEFECTS.values() for name in names} | set(WITNESSES) | REPORTING
    assert {check.name for check in checks} <= caught
    assert {check.level_for("native") for check in checks} == {check.level_for(None) for check in checks} == {"may"}


def test_no_check_cannot_fail() -> None:
    caught = {name for names in DEFECTS.values() for name in names}
    assert set(BY_NAME) - caught - set(WITNESSES) - REPORTING == set()
