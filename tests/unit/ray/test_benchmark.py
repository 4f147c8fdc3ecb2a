"""The checks of ``benchmarks/nodes.py``: it fails where a run on nodes is not as it must be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOST = [
    "[0].metadata.lost_trials: {'192.0.2.2/14009d': 1} and None",
    "[0].summary.totals.model_requests: 208 and 205",
    "[0].results[2].attempt: 1 and 0",
]


@pytest.fixture
def faults() -> Iterator[Callable[..., Iterator[str]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield import_module("nodes").faults
        for name in ("nodes", "growth"):
            sys.modules.pop(name, None)


def test_documents_may_differ_in_what_a_loss_changes(faults: Callable[..., Iterator[str]]) -> None:
    assert [*faults({"one": 1, "two": 1}, 2, LOST, losses=True)] == []


@pytest.mark.parametrize(
    ("measured", "found", "losses", "fault"),
    [
        ({"one": 1}, [], True, "1 of 2 trials were measured"),
        ({"one": 1, "two": 2}, [], True, "two was measured 2 times"),
        ({"one": 1, "two": 1}, LOST[2:], False, f"the documents differ: {LOST[2]}"),
        (
            {"one": 1, "two": 1},
            ["[0].results[2].scores.sopr_score: 1.0 and 0.0"],
            True,
            "the documents differ: [0].results[2].scores.sopr_score: 1.0 and 0.0",
        ),
    ],
)
def test_all_else_is_a_fault(
    faults: Callable[..., Iterator[str]], measured: dict[str, int], found: list[str], losses: bool, fault: str
) -> None:
    assert [*faults(measured, 2, found, losses=losses)] == [fault]
