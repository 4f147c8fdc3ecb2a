"""Comparisons within a run: who is compared with whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.sides import side as side_of

from trialbed.errors import UsageError
from trialbed.report.comparison import (
    FrameworkComparison,
    Side,
    chosen_baseline,
    compare_frameworks,
)

ONES, ZEROS = dict.fromkeys(range(12), 1.0), dict.fromkeys(range(12), 0.0)


def side(name: str, values: Mapping[int, float] = ONES) -> Side:
    return side_of(name, values)


def compared(*sides: Side, **more: Any) -> dict[str, tuple[FrameworkComparison, ...]]:
    every = {side.name: side for side in sides}
    options = {"against": None, "margin": 0.05, **more}
    return compare_frameworks(every, **options)


def against(*sides: Side, **more: Any) -> dict[str, list[tuple[str, str]]]:
    found = compared(*sides, **more)
    return {name: [(one.kind, one.against) for one in comparisons] for name, comparisons in found.items()}


def test_every_framework_is_compared_with_the_reference() -> None:
    sides = [side("acme", ZEROS), side("reference"), side("other")]
    assert against(*sides) == {
        "acme": [("reference", "reference")],
        "reference": [],
        "other": [("reference", "reference")],
    }
    found = compared(*sides)
    finding = found["acme"][0].scores["sopr_score"]
    assert (finding.verdict, finding.worse) == ("worse", tuple(range(12)))
    assert found["other"][0].scores["sopr_score"].verdict == "identical"


def test_without_a_reference_the_first_is_the_one_unless_another_is_named() -> None:
    sides = [side("acme", ZEROS), side("other")]
    assert against(*sides)["other"] == [("reference", "acme")]
    assert against(*sides, against="other")["acme"] == [("reference", "other")]


def test_a_native_profile_is_also_compared_with_the_controlled_one() -> None:
    names = ("acme:native", "acme:controlled", "other:native", "acme:native==2")
    found = against(side("reference"), *map(side, names))
    assert found["acme:native"] == [("reference", "reference"), ("profile", "acme:controlled")]
    assert found["acme:controlled"] == found["other:native"] == found["acme:native==2"] == [("reference", "reference")]


def test_a_pair_is_tested_once_although_it_is_compared_for_two_reasons() -> None:
    native, controlled = side("acme:native", ZEROS), side("acme:controlled")
    found = compared(native, controlled, side("other", ZEROS), against="acme:controlled")
    (one,) = found["acme:native"]
    assert one.kind == "reference"
    assert one.scores["sopr_score"].comparisons == 2


def test_one_framework_has_nothing_to_be_compared_with() -> None:
    assert against(side("acme")) == {"acme": []}


def test_nothing_is_compared_with_a_row_that_is_void() -> None:
    cheat, others = replace(side("cheat"), void="strong answered"), (side("acme"), side("other"))
    assert against(cheat, *others) == {"cheat": [], "acme": [], "other": []}
    assert against(cheat, *others, against="acme")["other"] == [("reference", "acme")]
    assert against(cheat, *others, against="acme")["cheat"] == []


def test_the_baseline_can_be_named_by_the_framework_alone() -> None:
    assert chosen_baseline(["a", "acme:native==2"], "acme") == "acme:native==2"
    for against in ("acme", "nothing"):
        with pytest.raises(UsageError, match=f"--against: '{against}' is not one framework of the run: acme:native, a"):
            chosen_baseline(["acme:native", "acme:controlled"], against)


def test_a_framework_with_settings_of_its_own_is_compared_with_the_baseline_that_has_them() -> None:
    names = ("reference", "langgraph:native", "reference@large", "langgraph:native@large", "langgraph:native@odd")
    assert against(*map(side, names)) == {
        "reference": [],
        "langgraph:native": [("reference", "reference")],
        "reference@large": [("reference", "reference")],
        "langgraph:native@large": [("reference", "reference@large")],
        "langgraph:native@odd": [("reference", "reference")],
    }


def test_native_is_compared_with_the_controlled_profile_that_has_its_settings() -> None:
    names = ("reference", "a:controlled", "a:native", "a:controlled@large", "a:native@large")
    found = against(*map(side, names))
    assert ("profile", "a:controlled@large") in found["a:native@large"]
    assert ("profile", "a:controlled") in found["a:native"]


def test_the_name_alone_of_a_baseline_means_the_one_with_the_runs_settings() -> None:
    assert chosen_baseline(["b:native", "a:native", "a:native@large"], "a") == "a:native"
