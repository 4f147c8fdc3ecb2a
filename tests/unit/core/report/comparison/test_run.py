"""Comparisons within a run: who is compared with whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from trialbed.errors import UsageError
from trialbed.report.comparison import chosen_baseline, compare_frameworks


def document(name: str, values: Mapping[int, float], *, status: str = "finished", common: Any = None) -> dict[str, Any]:
    entries = [{"query_id": query, "scores": {"sopr_score": value}} for query, value in values.items()]
    about = {"agent_name": name, "run_id": "r", "status": status, "profile": name.partition(":")[2] or None}
    return {"metadata": about, "summary": {"intervals": {"sopr_score": [0, 1]}, "common": common}, "results": entries}


ONES, ZEROS = dict.fromkeys(range(12), 1.0), dict.fromkeys(range(12), 0.0)


def compared(*documents: dict[str, Any], against: str | None = None) -> dict[str, list[tuple[str, str]]]:
    found = compare_frameworks(documents, [], against=against, margin=0.05)
    return {name: [(one["kind"], one["against"]) for one in comparisons] for name, comparisons in found.items()}


def test_every_framework_is_compared_with_the_reference() -> None:
    documents = [document("acme", ZEROS), document("reference", ONES), document("other", ONES)]
    assert compared(*documents) == {
        "acme": [("reference", "reference")],
        "reference": [],
        "other": [("reference", "reference")],
    }
    found = compare_frameworks(documents, [], against=None, margin=0.05)
    assert found["acme"][0]["scores"]["sopr_score"]["verdict"] == "worse"
    assert found["acme"][0]["scores"]["sopr_score"]["worse"] == list(range(12))
    assert found["other"][0]["scores"]["sopr_score"]["verdict"] == "identical"


def test_without_a_reference_the_first_is_the_one_unless_another_is_named() -> None:
    documents = [document("acme", ZEROS), document("other", ONES)]
    assert compared(*documents)["other"] == [("reference", "acme")]
    assert compared(*documents, against="other")["acme"] == [("reference", "other")]


def test_a_native_profile_is_also_compared_with_the_controlled_one() -> None:
    names = ("acme:native", "acme:controlled", "other:native", "acme:native==2")
    found = compared(document("reference", ONES), *(document(name, ONES) for name in names))
    assert found["acme:native"] == [("reference", "reference"), ("profile", "acme:controlled")]
    assert found["acme:controlled"] == found["other:native"] == found["acme:native==2"] == [("reference", "reference")]


def test_one_framework_has_nothing_to_be_compared_with() -> None:
    assert compared(document("acme", ONES)) == {"acme": []}


def test_an_incomplete_run_is_compared_only_where_that_is_accepted() -> None:
    unequal = [document(name, ONES, status="incomplete") for name in ("reference", "acme")]
    assert compared(*unequal)["acme"] == []
    accepted = [document(name, ONES, status="incomplete", common={"averages": {}}) for name in ("reference", "acme")]
    assert compared(*accepted)["acme"] == [("reference", "reference")]


def test_the_baseline_can_be_named_by_the_framework_alone() -> None:
    assert chosen_baseline(["a", "acme:native==2"], "acme") == "acme:native==2"
    for against in ("acme", "nothing"):
        with pytest.raises(UsageError, match=f"--against: '{against}' is not one framework of the run: acme:native, a"):
            chosen_baseline(["acme:native", "acme:controlled"], against)
