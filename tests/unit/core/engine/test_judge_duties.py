"""The part of a judge in a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.cases import for_each
from support.scoring import context

from trialbed.engine._judge import judge_duties, judge_report
from trialbed.records import Expected, Query
from trialbed.scoring import make_judge
from trialbed.settings import RunSettings


def query(expected: Expected | None, *facts: str) -> Query:
    return context().query.model_copy(update={"expected": expected, "reference_facts": facts, "states_calls": False})


PLAIN, EMPTY, FACT = query(None, "42"), query(Expected()), query(Expected(), "42")
POLITE = query(Expected(criteria=("polite",)))


@for_each(
    ("judge", "queries", "duties"),
    [
        ("rule", [PLAIN], (False, True)),
        ("rule", [PLAIN, FACT], (False, True)),
        ("rule", [EMPTY], (False, True)),
        ("rule", [FACT], (False, False)),
        ("rule", [POLITE, FACT], (True, False)),
        ("llm", [POLITE, FACT], (True, True)),
    ],
)
def test_the_rule_gives_no_verdict_where_expectations_decide(
    judge: str, queries: list[Query], duties: tuple[bool, bool]
) -> None:
    settings = replace(RunSettings(), judge=judge, judge_model=None if judge == "rule" else "m")
    assert judge_duties(settings, queries) == duties


def test_a_judge_that_gives_no_verdict_is_described_as_not_asked() -> None:
    settings = RunSettings()
    judge: Any = make_judge("rule")
    assert judge_report(judge, settings, asked=False)["asked"] is False
    assert "asked" not in judge_report(judge, settings)
