"""The effects of the factors of a run, such as its frameworks and its models: which of them matters more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from trialbed.records import RunConfig, shown_name
from trialbed.report.comparison._findings import (
    CommonQueries,
    ScoreFinding,
    explanations,
    paired_findings,
    with_verdict,
)
from trialbed.report.comparison._sides import Side, shared_trials
from trialbed.scoring import JUDGED, judge_label
from trialbed.statistics import Interval, holm, paired_interval, paired_test, paired_verdict
from trialbed.texts import decimal_text

JUDGE = "judge"

LARGEST_EXCESS = 2.0
"""The largest difference between two differences of a score in [0, 1]."""


@dataclass(frozen=True)
class Factor:
    """A setting in which the columns of a run differ, or the framework.

    Attributes:
        levels: its values; the first is the one that the others are compared with.
        findings: on each other level that can be compared, over all that is the same otherwise.
    """

    name: str
    levels: tuple[str, ...]
    findings: tuple[ScoreFinding, ...]


@dataclass(frozen=True)
class FactorContrast:
    """Two factors: by how much the largest difference of the one exceeds that of the other.

    Attributes:
        more, less: their names, the one with the larger difference first.
        interval: of how much larger it is.
        is_shown: whether the one is shown to matter more: its largest difference is shown itself, and the excess by
            the same test.
    """

    more: str
    less: str
    difference: float
    interval: Interval
    is_shown: bool


@dataclass(frozen=True)
class FactorEffects:
    """The effects of the factors of a run on a score.

    Attributes:
        contrasts: of the factor with the largest difference with each other one.
    """

    score: str
    factors: tuple[Factor, ...]
    contrasts: tuple[FactorContrast, ...]

    @property
    def findings(self) -> tuple[ScoreFinding, ...]:
        """Those of all factors."""
        return tuple(finding for factor in self.factors for finding in factor.findings)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on which factor matters more, and on verdicts that their figures alone would not give."""
        return *(_sentence(contrast, self.score) for contrast in self.contrasts), *explanations(self.findings)


def factor_effects(
    config: RunConfig,
    sides: Mapping[str, Side],
    score: str,
    margin: float,
    compared: Mapping[tuple[str, ...], ScoreFinding] | None = None,
) -> FactorEffects | None:
    """Return the effects of a run's factors on a score; None where only its frameworks differ, and one judge graded.

    An effect is the mean difference between two levels of a factor, over the queries and over all columns that differ
    in nothing else. Columns without a counterpart are left out.

    Args:
        sides: framework -> its trials; without those that cannot be compared.
        compared: the findings on columns that the run compares: an effect of two columns alone is theirs.
    """
    # Judges that graded the same answers in addition to the run's own each have their own score.
    prefix = f"{JUDGED}@"
    scores = {name for side in sides.values() for name in side.scores} if score == JUDGED else ()
    judges = sorted(name.removeprefix(prefix) for name in scores if name.startswith(prefix))
    if not (config.is_varied or judges):
        return None
    most = 1 + max((int(side.trials["repeat"].max()) for side in sides.values() if len(side.trials)), default=0)
    merge = partial(_merge, score=score, most=most)
    columns = [(_values(config, label), side) for label, side in sides.items()]
    levels = {name: list(dict.fromkeys(own[name] for own, _ in columns)) for name in columns[0][0]}
    levels = {name: own for name, own in levels.items() if len(own) > 1}
    pairs: list[tuple[str, Side, Side]] = []
    labels: list[tuple[str, ...]] = []  # of pairs of a single column each
    for name, (first, *others) in levels.items():
        for level in others:
            alike = [
                (side, other)
                for values, side in columns
                if values[name] == first
                for other in [own for found, own in columns if found == {**values, name: level}][:1]
            ]
            if alike:
                one, two = zip(*alike, strict=True)
                pairs.append((name, merge(first, one), merge(level, two)))
                labels.append(tuple(side.name for side in alike[0]) if len(alike) == 1 else ())
    own_judge = judge_label(config.judge, config.judge_model)
    for judge in judges:
        both = [_graded(side, f"{prefix}{judge}") for side in sides.values()]
        one, two = zip(*both, strict=True)
        pairs.append((JUDGE, merge(own_judge, one), merge(judge, two)))
        labels.append(())
        levels.setdefault(JUDGE, [own_judge]).append(judge)
    judged, known = [], compared or {}
    for pair, names, own in zip(
        pairs, labels, paired_findings([pair[1:] for pair in pairs], margin, [score]), strict=True
    ):
        for finding in own.values():
            # One question has one p-value: that of the run's own comparison of the same two columns, if there is one.
            same = known.get(names) or known.get(names[::-1]) or finding
            judged.append((pair, with_verdict(finding, same.p_adjusted, comparisons=same.comparisons)))
    factors = tuple(
        Factor(name, tuple(own), tuple(found for pair, found in judged if pair[0] == name))
        for name, own in levels.items()
    )
    return FactorEffects(score, factors, tuple(_contrasts(judged)))


def _graded(side: Side, by: str) -> tuple[Side, Side]:
    """Return a side as two judges grade it: over trials that failed, or on which both have a verdict."""
    import numpy as np

    table = side.trials
    own, other = (table.scores.get(name, np.full(len(table), np.nan)) for name in (JUDGED, by))
    table = table.take(~table.answered | np.isfinite(own + other))
    theirs = {**table.scores, JUDGED: table.scores.get(by, np.full(len(table), np.nan))}
    return replace(side, trials=table), replace(side, trials=replace(table, scores=theirs))


def _values(config: RunConfig, label: str) -> dict[str, str]:
    """Return the level of each factor in a column."""
    own = config.cell(label)
    temperature = "default" if own.temperature is None else decimal_text(own.temperature)
    return {
        "framework": own.framework,
        "model": own.model,
        "temperature": temperature,
        "number of tools": str(own.max_tools),
    }


def _merge(level: str, sides: Sequence[Side], *, score: str, most: int) -> Side:
    """The trials of several columns as those of one, with a single score.

    Args:
        most: repeats of a column: each has its own repeats here.
    """
    import numpy as np

    tables = [side.trials for side in sides]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0].columns}
    columns["repeat"] = np.concatenate([place * most + table["repeat"] for place, table in enumerate(tables)])
    values = np.concatenate([table.scores.get(score, np.full(len(table), np.nan)) for table in tables])
    joined = replace(tables[0], columns=columns, scores={score: values}, given={})
    return replace(sides[0], name=level, trials=joined, missing=sum(side.missing for side in sides))


def _contrasts(judged: Sequence[tuple[tuple[str, Side, Side], ScoreFinding]]) -> Iterator[FactorContrast]:
    """Compare the factor with the largest difference with each other one, query by query."""
    largest: dict[str, ScoreFinding] = {}
    turned: dict[str, dict[object, float]] = {}  # differences by query, their mean not negative
    for (factor, first, other), finding in sorted(judged, key=lambda item: -abs(item[1].difference)):
        if factor not in largest:
            largest[factor] = finding
            ours, theirs, places = CommonQueries(*shared_trials(first, other)).score(finding.score)
            differences = (ours - theirs if finding.difference < 0 else theirs - ours).tolist()
            queries = [first.trials.queries[place] for place in places.tolist()]
            turned[factor] = dict(zip(queries, differences, strict=True))
    if not any(any(each.values()) for each in turned.values()):
        return
    more, *others = turned
    finding, columns = largest[more], dict[str, list[float]]()
    for less in others:
        if column := [ours - turned[less][at] for at, ours in turned[more].items() if at in turned[less]]:
            columns[less] = column
    adjusted = holm({less: paired_test(column).p for less, column in columns.items()})
    for less, column in columns.items():
        interval = paired_interval(column, largest=LARGEST_EXCESS if finding.bounded else None)
        verdict = paired_verdict(interval, adjusted[less], finding.margin, changed=any(column))
        is_shown = finding.is_difference and verdict == "better"
        yield FactorContrast(more, less, fmean(column), interval, is_shown)


def _sentence(contrast: FactorContrast, score: str) -> str:
    low, high = contrast.interval.low, contrast.interval.high
    more = f"{contrast.difference:.3f} [{low:.3f}, {high:.3f}]"
    by = f"its largest difference exceeds that of the {contrast.less} by {more}"
    if contrast.is_shown:
        return f"The {contrast.more} matters more for {shown_name(score)} than the {contrast.less}: {by}."
    unsure = "the larger difference is not shown itself, or p is not below 0.05"
    why = "" if low <= 0 else f"; that leaves out 0, but {unsure}"
    return (
        f"Whether the {contrast.more} matters more for {shown_name(score)} than the {contrast.less} is not shown: "
        f"{by}{why}."
    )
