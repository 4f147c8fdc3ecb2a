"""The effects of models, temperatures and frameworks within one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each
from support.sides import side as side_of
from support.trials import cells_of, run_config

from trialbed.records import RunCell, RunConfig
from trialbed.report.comparison import FactorEffects, Side, factor_effects

QUERIES = range(40)
COLUMNS = {"a": ("a", "small"), "b": ("b", "small"), "a@large": ("a", "large"), "b@large": ("b", "large")}


def config(columns: Mapping[str, tuple[str, str]] = COLUMNS) -> RunConfig:
    cells = (RunCell(label=label, framework=name, model=model) for label, (name, model) in columns.items())
    return run_config(*cells, adapter_versions={})


def side(name: str, value: Callable[[int], float], *, repeats: int = 1, **more: Any) -> Side:
    return side_of(name, {query: [value(query)] * repeats for query in QUERIES}, **more)


def effects(sides: Mapping[str, Side], about: RunConfig | None = None) -> FactorEffects:
    found = factor_effects(about or config(), sides, "sopr_score", 0.05)
    assert found is not None
    return found


def solves(share: float) -> Callable[[int], float]:
    return lambda query: float(query % 10 < 10 * share)


def test_each_factor_has_its_effect_over_all_columns_that_differ_in_nothing_else() -> None:
    shares = {"a": 0.4, "b": 0.5, "a@large": 0.8, "b@large": 0.9}
    found = effects({name: side(name, solves(share)) for name, share in shares.items()})
    framework, model = found.factors
    assert (framework.name, framework.levels) == ("framework", ("a", "b"))
    assert (model.name, model.levels) == ("model", ("small", "large"))
    assert [finding.difference for finding in framework.findings] == [pytest.approx(0.1)]
    assert [finding.difference for finding in model.findings] == [pytest.approx(0.4)]
    assert (model.findings[0].baseline_mean, model.findings[0].candidate_mean) == (
        pytest.approx(0.45),
        pytest.approx(0.85),
    )


def test_the_factor_that_matters_more_is_named_where_that_is_shown() -> None:
    shares = {"a": 0.2, "b": 0.2, "a@large": 0.9, "b@large": 0.9}
    (contrast,) = effects({name: side(name, solves(share)) for name, share in shares.items()}).contrasts
    assert (contrast.more, contrast.less) == ("model", "framework")
    assert contrast.difference == pytest.approx(0.7)
    assert contrast.is_shown
    shares = {"a": 0.2, "b": 0.6, "a@large": 0.6, "b@large": 0.9}
    found = effects({name: side(name, solves(share)) for name, share in shares.items()})
    assert not found.contrasts[0].is_shown
    assert found.sentences[0].startswith("Whether the ")
    assert "is not shown" in found.sentences[0]


@for_each("queries", [4, 12])
def test_no_factor_matters_more_where_its_own_row_shows_nothing(queries: int) -> None:
    """The excess of few queries leaves out 0 before any difference of the table is shown."""
    won = {"a": lambda _: 0.0, "b": lambda _: 0.0, "b@large": lambda query: float(query < 4)}
    sides = {name: side(name, won.get(name, won["b@large"])) for name in COLUMNS}
    few = {name: replace(own, trials=own.trials.take(own.trials["query"] < queries)) for name, own in sides.items()}
    found = effects(few)
    model = found.factors[1].findings[0]
    assert model.verdict == "too few"
    assert found.contrasts[0].more == "model"
    assert not found.contrasts[0].is_shown
    assert found.sentences[0].startswith("Whether the model matters more for solved than the framework is not shown: ")
    leaves_out_0 = found.contrasts[0].interval.low > 0
    assert ("that leaves out 0, but the larger difference is not shown itself" in found.sentences[0]) == leaves_out_0


def test_nothing_is_said_of_factors_that_change_nothing() -> None:
    found = effects({name: side(name, solves(0.5)) for name in COLUMNS})
    assert [len(factor.findings) for factor in found.factors] == [1, 1]
    assert found.contrasts == ()


def test_an_effect_downwards_counts_as_one_upwards() -> None:
    shares = {"a": 0.9, "b": 0.9, "a@large": 0.1, "b@large": 0.1}
    found = effects({name: side(name, solves(share)) for name, share in shares.items()})
    assert found.factors[1].findings[0].difference == pytest.approx(-0.8)
    assert found.sentences[0].startswith("The model matters more for solved than the framework: ")


def test_a_column_without_its_counterpart_is_left_out() -> None:
    shares = {"a": 0.4, "b": 1.0, "a@large": 0.8}
    framework, model = effects({name: side(name, solves(share)) for name, share in shares.items()}).factors
    assert model.findings[0].difference == pytest.approx(0.4), "not of b, which has no large model here"
    assert framework.findings[0].difference == pytest.approx(0.6)


def test_repeats_of_columns_stay_apart() -> None:
    sides = {name: side(name, solves(0.5), repeats=3) for name in COLUMNS}
    assert effects(sides).factors[1].findings[0].n == len(QUERIES)


def test_several_factors_are_compared_with_the_largest() -> None:
    cells = (
        RunCell(label=f"a@{model},temperature={heat}", framework="a", model=model, temperature=heat)
        for model, heat in (("small", 0.0), ("small", 1.0), ("large", 0.0), ("large", 1.0))
    )
    about = run_config(*cells, adapter_versions={})
    sides = {label: side(label, solves(0.9 if "large" in label else 0.3)) for label in about.frameworks}
    found = effects(sides, about)
    assert [factor.name for factor in found.factors] == ["model", "temperature"]
    assert [(one.more, one.less) for one in found.contrasts] == [("model", "temperature")]


def test_the_number_of_tools_is_a_factor() -> None:
    (many,) = cells_of("a", max_tools=20)
    about = run_config(many, many.model_copy(update={"label": "a@max_tools=5", "max_tools": 5}), adapter_versions={})
    found = effects({"a": side("a", solves(0.9)), "a@max_tools=5": side("a@max_tools=5", solves(0.3))}, about)
    assert [(factor.name, factor.levels) for factor in found.factors] == [("number of tools", ("20", "5"))]
    assert found.factors[0].findings[0].difference == pytest.approx(-0.6)


def test_an_effect_of_two_columns_alone_has_the_p_value_of_their_comparison() -> None:
    about = config({"a": ("a", "small"), "a@large": ("a", "large")})
    sides = {name: side(name, solves(share)) for name, share in (("a", 0.8), ("a@large", 0.5))}
    (alone,) = factor_effects(about, sides, "sopr_score", 0.05).findings  # type: ignore[union-attr]
    for pair in (("a", "a@large"), ("a@large", "a")):
        compared = {pair: replace(alone, p_adjusted=0.2, comparisons=7)}
        found = factor_effects(about, sides, "sopr_score", 0.05, compared)
        assert found is not None
        assert [(one.p_adjusted, one.verdict, one.comparisons) for one in found.findings] == [(0.2, "too few", 7)]
        assert "p is not below 0.05, as 7 comparisons are made at once: not shown" in found.sentences[0]


def test_a_run_of_frameworks_alone_has_no_effects() -> None:
    assert factor_effects(run_config(), {"reference": side("reference", solves(1))}, "sopr_score", 0.05) is None


def test_columns_are_paired_with_their_own_where_repeats_are_missing() -> None:
    shares = {"a": 0.0, "b": 1.0, "a@large": 0.0, "b@large": 1.0}
    sides = {
        name: side(name, solves(share), repeats=2 if "@" in name else 3, missing=1) for name, share in shares.items()
    }
    model = effects(sides).factors[1]
    assert (model.name, [finding.difference for finding in model.findings]) == ("model", [0.0])


def test_judges_of_the_same_answers_are_a_factor_over_those_that_both_grade() -> None:
    def graded(name: str, severe: bool) -> Side:
        # The other judge has no verdict on the first answer, and a trial that failed is Unsolved to both.
        solved = {query: {"sopr_score": solves(0.8)(query)} for query in QUERIES}
        both = {query: {**own, "sopr_score@strict": own["sopr_score"] * (not severe)} for query, own in solved.items()}
        return side_of(name, {**both, 0: solved[0], 99: None})

    about = run_config(frameworks=("a", "b"), judge="rule", adapter_versions={})
    found = effects({"a": graded("a", severe=True), "b": graded("b", severe=False)}, about)
    assert [factor.name for factor in found.factors] == ["framework", "judge"]
    judge = found.factors[1]
    assert judge.levels == ("rule", "strict")
    (finding,) = judge.findings
    assert finding.n == len(QUERIES)
    assert finding.difference == pytest.approx(-0.4, abs=0.02)
