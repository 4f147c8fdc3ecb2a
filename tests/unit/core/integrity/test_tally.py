"""The integrity of a framework's row."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from support.cases import for_each
from support.trials import run_config

from trialbed.integrity import Integrity, framework_integrity
from trialbed.records import IntegrityFinding

STRONG = (IntegrityFinding(kind="other_model_answered", count=2, examples=("strong",)),)
FORCED = (
    IntegrityFinding(kind="forced_choice", count=1, examples=("a",)),
    IntegrityFinding(kind="forced_call", count=1, examples=("a",)),
)


def sum_up(
    trials: Sequence[Sequence[IntegrityFinding] | None], allowed: Collection[str], *, in_process: bool
) -> Integrity:
    adapters = {} if in_process else {"mine": "1"}
    config = run_config(frameworks=("mine",), allowed_models=tuple(allowed), adapter_versions=adapters)
    facts = [{} if findings is None else {"integrity": [one.model_dump() for one in findings]} for findings in trials]
    return framework_integrity(config, "mine", facts)


def test_findings_are_summed_by_kind_over_the_trials_that_were_looked_at() -> None:
    found = sum_up([FORCED, None, (), FORCED, STRONG], ["strong"], in_process=False)
    assert found.trials == 4
    assert list(found.lines()) == [
        "2 requests answered by another model, in 1 trial (strong)",
        "2 requests with a call forced by its name, in 2 trials (a)",
        "2 calls forced by the request, not scored, in 2 trials (a)",
    ]
    assert sum_up([None], [], in_process=False).trials == 0


@for_each(
    ("allowed", "in_process", "void"),
    [
        ([], False, "strong answered in place of the run's model"),
        (["other"], False, "strong answered in place of the run's model"),
        (["strong"], False, ""),
        (["*"], False, ""),
        ([], True, ""),
    ],
)
def test_a_row_is_void_where_a_model_answered_that_the_run_does_not_allow(
    allowed: list[str], void: str, *, in_process: bool
) -> None:
    assert sum_up([STRONG, ()], allowed, in_process=in_process).void == void
    assert sum_up([FORCED], allowed, in_process=in_process).void == ""
