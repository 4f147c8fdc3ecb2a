"""The integrity of a framework's row."""

from __future__ import annotations

from support.cases import for_each

from trialbed.integrity import sum_integrity
from trialbed.records import IntegrityFinding

STRONG = (IntegrityFinding(kind="other_model_answered", count=2, examples=("strong",)),)
FORCED = (
    IntegrityFinding(kind="forced_choice", count=1, examples=("a",)),
    IntegrityFinding(kind="forced_call", count=1, examples=("a",)),
)


def test_findings_are_summed_by_kind_over_the_trials_that_were_looked_at() -> None:
    found = sum_integrity([FORCED, None, (), FORCED, STRONG], ["strong"], in_process=False)
    assert found.trials == 4
    assert list(found.lines()) == [
        "2 requests answered by other models, in 1 trial (strong)",
        "2 requests force a call by name, in 2 trials (a)",
        "2 forced calls, which score nothing, in 2 trials (a)",
    ]
    assert sum_integrity([None], [], in_process=False).trials == 0


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
    assert sum_integrity([STRONG, ()], allowed, in_process=in_process).void == void
    assert sum_integrity([FORCED], allowed, in_process=in_process).void == ""
