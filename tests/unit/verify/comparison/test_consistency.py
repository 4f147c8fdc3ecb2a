from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.vendor_rows import compared_files, own_file

YES, NO = "tool_calls", "stop"


@settings(max_examples=examples(0.3))
@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=12))
def test_self_f1_is_that_of_all_ordered_pairs_of_trials(trials: list[list[bool]]) -> None:
    ends = [[YES if calls else NO for calls in case] for case in trials]
    with tempfile.TemporaryDirectory() as folder:
        path = own_file(Path(folder) / "base.jsonl", ends)
        found = compared_files(path, path)["self_consistency"]["baseline"]["self_f1"]["value"]
    pairs = list(permutations(range(4), 2))
    tp = sum(case[one] and case[other] for case in trials for one, other in pairs)
    fn = sum(case[one] and not case[other] for case in trials for one, other in pairs)
    assert found == (pytest.approx(tp / (tp + fn)) if tp + fn else None)


def test_one_trial_is_not_known_to_be_consistent(compared: Any) -> None:
    document = compared([YES, NO, YES], [YES, NO, NO])
    assert document["self_consistency"] == {"baseline": None, "vendor": None}
    assert document["stable_subset"] is None


def test_flips_and_stable_cases_are_counted(compared: Any) -> None:
    baseline = [[YES, YES], [NO, NO], [YES, NO], [YES, NO]]
    found = compared(baseline, [YES, NO, YES, NO])
    itself = found["self_consistency"]["baseline"]
    assert itself["flip_rate"]["value"] == 0.5
    assert itself["self_f1"]["value"] == pytest.approx(0.5)  # 1 / (1 + (1/2 + 1/2))
    assert (itself["cases"], itself["stable_cases"], itself["trials"]) == (4, 2, 2)
    assert found["stable_subset"]["answered"]["cases"] == 2
    assert found["stable_subset"]["answered"]["f1"]["value"] == 1.0


def test_a_failed_trial_is_no_flip(compared: Any) -> None:
    baseline = [[YES, "timeout", YES], [NO, NO, "timeout"], [YES, "timeout", "timeout"]]
    itself = compared(baseline, [YES, NO, YES])["self_consistency"]["baseline"]
    assert (itself["cases"], itself["flip_rate"]["value"]) == (2, 0.0)
