"""The effects of the factors of a run, such as its frameworks and its models: which of them matters more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from trialbed.records import RunConfig, shown_name
from trialbed.report.comparison._findings import (
    ALPHA,
    CommonQueries,
    ScoreFinding,
    explanations,
    findings_by_pair,
    with_verdict,
)
from trialbed.report.comparison._sides import Side, shared_trials
from trialbed.scoring import JUDGED, judge_label
from trialbed.statistics import Interval, holm, paired_interval, paired_test, paired_verdict
from trialbed.texts import decimal_text

FRAMEWORK = "framework"
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

    @property
    def largest(self) -> ScoreFinding | None:
        """The finding with the largest difference."""
        return max(self.findings, key=lambda finding: abs(finding.difference), default=None)


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
    names = {name for side in sides.values() for name in side.scores} if score == JUDGED else ()
    judges = sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))
    if not (config.variations or judges):
        return None
    columns = [(_values(config, label), side) for label, side in sides.items()]
    pairs = [pair for name in _names(columns) for pair in _pairs(name, columns)]
    pairs += [_judge_pair(judge_label(config), judge, [*sides.values()]) for judge in judges]
    found = findings_by_pair([(pair.first, pair.other) for pair in pairs], margin, [score])
    judged = []
    for pair, own in zip(pairs, found, strict=True):
        if score in own:
            # One question has one p-value: that of the run's own comparison of the same two columns, if there is one.
            ways = (pair.columns, pair.columns[::-1]) if pair.columns and compared else ()
            same = next((compared[way] for way in ways if compared and way in compared), None)
            finding = own[score]
            if same is not None:
                finding = with_verdict(finding, same.p_adjusted, comparisons=same.comparisons)
            judged.append((pair, finding))
    levels = {name: _levels(name, columns) for name in _names(columns)}
    if judges:
        levels[JUDGE] = [judge_label(config), *judges]
    factors = tuple(
        Factor(name, tuple(own), tuple(found for pair, found in judged if pair.factor == name))
        for name, own in levels.items()
    )
    return FactorEffects(score, factors, tuple(_contrasts(judged)))


def _judge_pair(own: str, judge: str, sides: Sequence[Side]) -> _Pair:
    """Return the run's answers as two judges grade them: over those that failed, or on which both have a verdict."""
    import numpy as np

    other, both = f"{JUDGED}@{judge}", list[Side]()
    for side in sides:
        table = side.trials
        chosen = ~table.answered
        if {JUDGED, other} <= table.scores.keys():
            chosen |= np.isfinite(table.scores[JUDGED] + table.scores[other])
        both.append(replace(side, trials=table.take(chosen)))
    graded = [
        replace(side, trials=replace(side.trials, scores={**side.trials.scores, JUDGED: side.trials.scores[other]}))
        if other in side.trials.scores
        else side
        for side in both
    ]
    most = _most_repeats(sides)
    return _Pair(JUDGE, _merge(own, both, most), _merge(judge, graded, most))


def _most_repeats(sides: Iterable[Side]) -> int:
    return 1 + max((int(side.trials["repeat"].max()) for side in sides if len(side.trials)), default=0)


Values = Mapping[str, str]
"""Factor -> its level in a column."""


@dataclass(frozen=True)
class _Pair:
    """Two levels of a factor, each with the trials of all columns that have a counterpart in the other."""

    factor: str
    first: Side
    other: Side
    columns: tuple[str, ...] = ()
    """Their labels, where each is a single column."""


def _values(config: RunConfig, label: str) -> Values:
    own = config.of(label)
    temperature = "default" if own.temperature is None else decimal_text(own.temperature)
    return {
        FRAMEWORK: config.plain_label(label),
        "model": own.model,
        "temperature": temperature,
        "number of tools": str(own.max_tools),
    }


def _names(columns: Sequence[tuple[Values, Side]]) -> list[str]:
    """The factors in which the columns differ."""
    names = columns[0][0] if columns else ()
    return [name for name in names if len({values[name] for values, _ in columns}) > 1]


def _levels(name: str, columns: Sequence[tuple[Values, Side]]) -> list[str]:
    return list(dict.fromkeys(values[name] for values, _ in columns))


def _pairs(name: str, columns: Sequence[tuple[Values, Side]]) -> Iterator[_Pair]:
    first, *others = _levels(name, columns)
    for level in others:
        sides: list[tuple[Side, Side]] = []
        for values, side in columns:
            counterpart = {**values, name: level}
            other = next((own for found, own in columns if found == counterpart), None)
            if values[name] == first and other is not None:
                sides.append((side, other))
        if sides:
            one, two = zip(*sides, strict=True)
            most = _most_repeats((*one, *two))
            alone = (one[0].name, two[0].name) if len(sides) == 1 else ()
            yield _Pair(name, _merge(first, one, most), _merge(level, two, most), alone)


def _merge(level: str, sides: Sequence[Side], most: int) -> Side:
    """The trials of several columns as those of one, with repeats of their own.

    Args:
        most: repeats of a column, in all sides that are compared.
    """
    import numpy as np

    tables, first = [side.trials for side in sides], sides[0].trials
    columns = {name: np.concatenate([table[name] for table in tables]) for name in first.columns}
    columns["repeat"] = np.concatenate([place * most + table["repeat"] for place, table in enumerate(tables)])
    names = dict.fromkeys(name for table in tables for name in table.scores)
    joined = replace(
        first,
        columns=columns,
        scores={
            name: np.concatenate([table.scores.get(name, np.full(len(table), np.nan)) for table in tables])
            for name in names
        },
        given={
            name: np.concatenate([table.given.get(name, np.zeros(len(table), dtype=bool)) for table in tables])
            for name in names
        },
    )
    return replace(sides[0], name=level, trials=joined, missing=sum(side.missing for side in sides))


def _contrasts(judged: Sequence[tuple[_Pair, ScoreFinding]]) -> Iterator[FactorContrast]:
    """Compare the factor with the largest difference with each other one, query by query."""
    largest: dict[str, tuple[_Pair, ScoreFinding]] = {}
    for pair, finding in sorted(judged, key=lambda item: -abs(item[1].difference)):
        largest.setdefault(pair.factor, (pair, finding))
    turned = {name: _turn(pair, finding) for name, (pair, finding) in largest.items()}
    if not any(any(each.values()) for each in turned.values()):
        return
    more, *others = turned
    excess = {
        less: [ours - turned[less][query] for query, ours in turned[more].items() if query in turned[less]]
        for less in others
    }
    columns = {less: column for less, column in excess.items() if column}
    adjusted = holm({less: paired_test(column).p for less, column in columns.items()})
    finding = largest[more][1]
    for less, column in columns.items():
        interval = paired_interval(column, largest=LARGEST_EXCESS if finding.bounded else None)
        verdict = paired_verdict(interval, adjusted[less], finding.margin, alpha=ALPHA, changed=any(column))
        is_shown = finding.is_difference and verdict == "better"
        yield FactorContrast(more, less, fmean(column), interval, is_shown)


def _turn(pair: _Pair, finding: ScoreFinding) -> dict[object, float]:
    """The differences of a finding's queries, turned so that their mean is not negative."""
    first, other = shared_trials(pair.first, pair.other)
    found = CommonQueries(first, other).score(finding.score)
    sign = -1 if finding.difference < 0 else 1
    return dict(zip(found.queries, (sign * found.differences).tolist(), strict=True))


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
