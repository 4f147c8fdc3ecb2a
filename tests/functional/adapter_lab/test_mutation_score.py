"""The mutation score: the kit reports the mutants, and names their cause first."""

from __future__ import annotations

import gc
import warnings

import pytest
from support.mutants import MUTANTS
from support.mutants._causes import names_cause
from support.mutants._score import hurried

from trialbed_adapter_lab import CHECKS, check_adapter
from trialbed_adapter_lab.breadth import breadth, tried_defects

REPORTED, NAMED = 0.95, 0.85
"""The least shares of mutants that the kit reports, and whose cause it names first."""

RECORD = {defect.name: defect for defect in tried_defects()}
BY_NAME = {check.name: check for check in CHECKS}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_mutants_are_recorded_under_their_cause():
    causes = {mutant.__name__: mutant.cause for mutant in MUTANTS}
    assert {name: causes.get(name) for name in RECORD} == {name: defect.cause for name, defect in RECORD.items()}
    assert len(RECORD) >= 120


def test_the_score_is_what_it_is_to_be():
    reported = [defect for defect in RECORD.values() if defect.first]
    named = [defect for defect in reported if names_cause(defect.name, defect.first)]
    assert len(reported) / len(RECORD) >= REPORTED
    assert len(named) / len(RECORD) >= NAMED
    assert {defect.name for defect in RECORD.values() if defect.named} == {defect.name for defect in named}


def test_the_most_specific_check_heads_each_report():
    for defect in RECORD.values():
        assert [*defect.failed] == sorted(defect.failed, key=breadth), defect.name


@pytest.mark.slow(90)
@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.__name__ in RECORD], ids=lambda mutant: mutant.__name__)
def test_what_heads_a_mutants_report_still_reports_it(mutant, monkeypatch, tmp_path):
    defect = RECORD[mutant.__name__]
    if not defect.first:
        pytest.xfail("the kit does not report it")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(), hurried():
        warnings.simplefilter("ignore")
        (found,) = check_adapter(mutant, [BY_NAME[defect.first]], profile="controlled").findings
        mutant.forget()
        gc.collect()
    assert found.outcome == ("failed" if defect.failed else "finding"), found.message
