"""Compute the figures of a run's frameworks from its table, for tables, documents and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from trialbed.attribution import Attribution as Attribution
from trialbed.attribution import count_calls
from trialbed.integrity import Integrity as Integrity
from trialbed.integrity import IntegrityTally as IntegrityTally
from trialbed.integrity import framework_integrity
from trialbed.records import AttributedCall as AttributedCall
from trialbed.records import Failure, FrameworkInfo, GoldAnswer, Run, ScoreDescription, framework_profile
from trialbed.report._metadata import framework_info
from trialbed.scoring import ALWAYS, JUDGED, TIMES
from trialbed.settings import secret_values
from trialbed.statistics import pass_at_k, pass_hat_k, quantile, wilson_interval
from trialbed.store import ScoreKind as ScoreKind
from trialbed.store import TrialRow as TrialRow
from trialbed.store import TrialTable as TrialTable
from trialbed.texts import group_by_key, one_line
from trialbed.wire.redaction import redact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trialbed.report.comparison import FrameworkComparison

QueryId = int | str

CLAIMED = ("invented", "unreported", "unasked")

TALLIES = {
    "truncated": ("truncated", "answers", ""),
    "text_calls": ("text_calls", "calls", ""),
    "refused_requests": ("refused", "requests", "limits"),
    "lost_calls": ("lost_calls", "calls", "reasons"),
    "filled_arguments": ("filled", "arguments", ""),
    "translated_requests": ("translated", "requests", ""),
    "waited": ("waited", "seconds", ""),
}
"""Key of events on the wire -> the column that counts them, and the keys of their number and their kinds."""

MAX_MESSAGE = 300
"""Characters to show of a failure's message; the whole stands in the trial's entry."""


@dataclass(frozen=True, slots=True)
class ScoreMean:
    """The mean of a score over trials.

    Attributes:
        value: None if no trial has a value.
        interval: of scores that lie in [0, 1]; clustered by query.
        denominator: how many trials have a value.
    """

    value: float | None
    interval: tuple[float, float] | None
    denominator: int


@dataclass(frozen=True, slots=True)
class ScoreSummary(ScoreMean):
    """One score over the measured trials of a framework.

    Attributes:
        median, quartiles: of scores that are not bounded.
        quality: whether it says how good an answer is: a trial that failed counts as 0.
        untold: the number of trials without failure and without a value that could be determined.
        description: from its scorer, if that is installed.
    """

    name: str
    bounded: bool
    quality: bool
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    untold: int = 0
    description: ScoreDescription | None = None

    @property
    def unit(self) -> str:
        """Return the unit of its values, such as ``s``, or an empty text."""
        return self.description.unit if self.description else ""

    @property
    def meaning(self) -> str:
        """Return its meaning in a line; empty if that is not known."""
        return self.description.meaning if self.description else ""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a framework's trials by their end.

    Attributes:
        trials: the attempted ones; ``not_measured`` also counts trials that never began.
        judged: trials with a verdict, failed ones included; ``solved``, ``unsure`` and ``unsolved`` add up to it.
        finished: trials with an agent that ended regularly, out of ``finish_known``.
        failures: kind -> trials that ended in such an error, including unmeasured trials.
    """

    queries: int
    trials: int
    answered: int
    failed: int
    not_measured: int
    solved: int
    unsure: int
    unsolved: int
    finished: int
    finish_known: int
    failures: Mapping[str, int]

    @property
    def planned(self) -> int:
        """All trials of the run's plan."""
        return self.answered + self.failed + self.not_measured

    @property
    def judged(self) -> int:
        """Return the number of trials with a verdict, including failed ones."""
        return self.solved + self.unsure + self.unsolved


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why trials have no answer, or scores no value, in the words of the first such trial.

    Attributes:
        status: how these trials ended.
        count: how many there are.
        alike: how many of them have this message.
        message: one line, cut if it is long.
        entry: the place of the first among the trials of its framework.
        score: the undetermined score; empty for the end of a trial.
    """

    kind: str
    status: str
    count: int
    message: str
    query_id: QueryId
    repeat: int
    entry: int
    score: str = ""
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens and model requests over all trials and attempts, even if they do not count.

    Attributes:
        unreported: answers of the model without a report of their tokens.
        recorded_requests: requests with a recorded answer, and ``recorded``, the tokens of these answers.
        cost: of the reported tokens, in US dollars; None if the model's prices are not known.
    """

    prompt: int
    completion: int
    requests: int
    unreported: int
    recorded_requests: int = 0
    recorded: int = 0
    cost: float | None = None

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Times:
    """Mean times, in seconds.

    Attributes:
        gold: of making the expected calls, if the run did, over ``gold_trials``.
        answer: over ``timed`` trials without failure.
        first: score -> mean over each worker's first trial; their number is ``first_trials``.
        first_apart: whether these are left out of the other means and medians of times.
    """

    gold: float | None
    gold_trials: int
    answer: float | None
    timed: int
    evaluation: float | None
    first_trials: int
    first_apart: bool
    first: Mapping[str, float | None]


@dataclass(frozen=True)
class Summary:
    """One framework of a run.

    Attributes:
        info: the framework's description by its workers; None before one has begun.
        scores: over the measured trials, failed ones as 0 in scores of quality.
        over_answered: the means over the trials without failure alone.
        common: the scores over the queries and repeats that were measured for every framework, if some were not;
            ``common_trials``: how many these are.
        failures: why trials failed or were not measured, the most frequent first; ``untold``: why scores have no value.
        claims: the agents' claims over the trials without failure, next to the observed calls, in the document's form.
        wire: facts of the wire over all trials, including failed ones, in the document's form; ``waited``: the seconds
            that requests to the model waited for the endpoint, or were repeated.
        success: over the repeats of queries, ``any`` (pass@k) and ``each`` (pass^k) -> k -> the mean over the queries
            with k trials.
        repeated: trials that were measured several times; ``replaced``: how many of them count by a later attempt.
        attribution: what became of the expected calls.
        integrity: the facts of the wire that bear on whether the row can be compared with others.
        ranks: score -> the best and the worst rank that the comparisons leave open; None in an incomplete run.
        extra: figures of plugins.
        trials: the trials that count, in the order of the run's queries.
    """

    run: Run
    framework: str
    info: FrameworkInfo | None
    counts: Counts
    scores: Mapping[str, ScoreSummary]
    over_answered: Mapping[str, ScoreSummary]
    common: Mapping[str, ScoreSummary] | None
    common_trials: int
    failures: tuple[Reason, ...]
    untold: tuple[Reason, ...]
    tokens: Tokens
    claims: Mapping[str, Any]
    wire: Mapping[str, Any]
    times: Times
    success: Mapping[str, Mapping[int, ScoreMean]]
    repeated: Mapping[str, int]
    attribution: Attribution
    trials: TrialTable = field(repr=False, compare=False)
    integrity: Integrity = field(default_factory=Integrity)
    comparisons: tuple[FrameworkComparison, ...] = ()
    ranks: Mapping[str, tuple[int, int]] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def incomplete(self) -> bool:
        """True if the run has ended without measuring all of its trials."""
        return self.run.status == "incomplete"

    @property
    def is_part(self) -> bool:
        """True if its figures are over other queries than the other frameworks' figures, as trials are missing."""
        return self.incomplete and len(self.run.config.frameworks) > 1

    @property
    def shown(self) -> Mapping[str, ScoreSummary]:
        """Return the scores to show next to the other frameworks', over common trials if some are missing.

        Empty without such figures, as in a run that was not allowed to be incomplete, or if the row is void.
        """
        scores = self.scores if not self.is_part else self.common or {}
        return {} if self.integrity.void else scores

    def mean(self, name: str) -> float:
        """Return the mean of a score that is shown; 0 without one."""
        found = self.shown.get(name)
        return 0.0 if found is None else found.value or 0.0

    def middle(self, name: str) -> float:
        """Return the median of a score, as tables show it, or the mean of one without a median; 0 without either."""
        found = self.shown.get(name)
        return self.mean(name) if found is None or found.median is None else found.median

    def of_tag(self, tag: str) -> Summary:
        """Return the trials and scores of the queries that have a tag; all else is as in the summary of all queries.

        Raises:
            UsageError: no query of the run has it.
        """
        import numpy as np

        chosen = {*self.run.config.queries_with(tag)}
        places = [place for place, query_id in enumerate(self.trials.queries) if query_id in chosen]
        own = self.trials.take(np.isin(self.trials["query"], places))
        quality = [name for name, score in self.scores.items() if score.quality]
        described = {name: score.description for name, score in self.scores.items() if score.description}
        given = own.measured, quality, described, _missing_values(own)
        scores = score_summaries(own, *given, first_apart=self.times.first_apart)
        counts = _counts(own, len(chosen) * self.run.config.repeat)
        return replace(self, trials=own, counts=counts, scores=scores, common=None, success=_success(own))

    @property
    def model(self) -> str:
        """The model of its trials."""
        return self.run.config.cell(self.framework).model

    @property
    def cost_per_solved(self) -> float | None:
        """The cost of all its trials for each that is solved, in US dollars; None without a price or a solved trial."""
        cost, solved = self.tokens.cost, self.counts.solved
        return cost / solved if cost is not None and solved else None

    @property
    def profile(self) -> str | None:
        """``native`` or ``controlled``; None for anything but an adapter."""
        plain = self.run.config.cell(self.framework).framework
        return framework_profile(plain) if plain in self.run.config.adapter_versions else None


@dataclass(frozen=True)
class WorstQuery:
    """A task with a problem.

    Attributes:
        text: the task; empty if it is not known.
        score: the score that leads the run.
        mean: of the score over the trials of all setups; None without a value.
        trials: the ended trials of all frameworks.
        worst: the worst trial.
    """

    query_id: QueryId
    text: str
    score: str
    mean: float | None
    trials: Sequence[TrialRow]
    worst: TrialRow

    @property
    def ends(self) -> str:
        """The ends of its trials, of all setups together."""
        ends = Counter(map(_end_text, self.trials))
        counted = [f"{count} {end}" for end, count in ends.most_common()]
        return ", ".join(counted if ends.total() > 1 else ends)


def _end_text(trial: TrialRow) -> str:
    if trial.failure is not None:
        return f"{trial.status} ({trial.failure.kind})"
    return "not judged" if trial.verdict == "Error" else trial.verdict


def summarise(
    run: Run,
    table: TrialTable,
    every: TrialTable,
    described: Mapping[str, ScoreDescription],
    gold: Mapping[QueryId, GoldAnswer],
    *,
    has_common: bool,
) -> list[Summary]:
    """Sum up the trials of a run's frameworks.

    A mean of a score of quality is over the measured trials, failed ones counted as 0. A mean of any other score is
    over trials without failure. Intervals are 95 % Wilson intervals of bounded scores, clustered by query. Times are
    seconds; failures enter none of their averages.

    Args:
        table: the trials that count.
        every: all attempts.
        described: the descriptions of scores by name.
        gold: the answers to the expected calls of queries, if the run made them.
        has_common: of a run that lacks trials, whether to add the figures over the trials common to all frameworks.
    """
    import numpy as np

    common = None
    if has_common and run.status != "finished" and len(run.config.frameworks) > 1:
        measured = (table.pairs[table.measured & (table["framework"] == at)] for at in range(len(table.labels)))
        common = np.isin(table.pairs, list(set.intersection(*(set(pairs.tolist()) for pairs in measured))))
    first_apart = table.first_apart and (common is None or table.are_first_apart(table.answered & common))
    quality, found = table.quality, list[Summary]()
    for at, label in enumerate(run.config.frameworks):
        own = table.of(label)
        shared = None if common is None else common[table["framework"] == at]
        undetermined = _missing_values(own)
        failed = [(row, "", failure) for row in own if (failure := row.failure)]
        figures = partial(score_summaries, own, first_apart=first_apart)
        given = quality, described, undetermined
        lost = ((row.query_id, row["facts"].get("gold_calls") or (), row["failure"]) for row in own)
        found.append(
            Summary(
                run=run,
                framework=label,
                info=framework_info(run, label),
                counts=_counts(own, len(run.config.query_ids) * run.config.repeat),
                scores=figures(own.measured, *given),
                over_answered=figures(own.answered, ()),
                common=None if shared is None else figures(shared, *given),
                common_trials=0 if shared is None else int(shared.sum()),
                failures=tuple(sorted(_reasons(failed), key=lambda reason: -reason.count)),
                untold=tuple(_reasons(undetermined)),
                tokens=_tokens(every.of(label), has_prices=run.prices_of(label) is not None),
                claims=_claims(own.take(own.answered)),
                wire=_wire(own),
                times=_times(own, gold, first_apart=first_apart),
                success=_success(own),
                repeated={"trials": int((own["again"] > 0).sum()), "replaced": int((own["again"] > 1).sum())},
                attribution=count_calls(lost),
                trials=own,
                integrity=framework_integrity(run.config, label, own["facts"]),
            )
        )
    return found


def _missing_values(own: TrialTable) -> list[tuple[TrialRow, str, Failure]]:
    """Return the trials without failure that have scores without a value, with these and the reasons."""
    import numpy as np

    answered = map(own.row, np.flatnonzero(own.answered).tolist() if own.undetermined else ())
    return [(row, name, failure) for row in answered for name, failure in own.undetermined.get(row["row"], {}).items()]


def _counts(own: TrialTable, planned: int) -> Counts:
    """Count the ends of trials; a trial that never began was not measured either."""
    import numpy as np

    answered, failed = int(own.answered.sum()), int(own.failed.sum())
    verdicts = Counter(own["verdict"][own.answered].tolist())
    finishes = own.values("has_finish", zeros=False)
    return Counts(
        queries=len(np.unique(own["query"])),
        trials=len(own),
        answered=answered,
        failed=failed,
        not_measured=max(planned, len(own)) - answered - failed,
        solved=verdicts["Solved"],
        unsure=verdicts["Unsure"],
        unsolved=verdicts["Unsolved"] + failed,
        finished=int((finishes > 0).sum()),
        finish_known=int(np.isfinite(finishes).sum()) + failed,
        failures=dict(Counter(filter(None, own["failure"].tolist()))),
    )


def _have_times(own: TrialTable, chosen: NDArray[Any], *, first_apart: bool) -> NDArray[Any]:
    """Return which of the chosen trials ended without failure and have times that count."""
    answered: NDArray[Any] = chosen & own.answered
    later: NDArray[Any] = answered & (own["first"] == 0)
    return later if first_apart and later.any() else answered


def score_summaries(
    own: TrialTable,
    chosen: NDArray[Any],
    quality: Sequence[str],
    described: Mapping[str, ScoreDescription] | None = None,
    undetermined: Sequence[tuple[TrialRow, str, Failure]] = (),
    *,
    first_apart: bool,
) -> dict[str, ScoreSummary]:
    """Sum up every score over some trials of a framework.

    Args:
        chosen: for each trial, whether it is among them.
        quality: the scores that count a failed trial as 0; in others only trials without failure count.
        undetermined: a trial without failure, score and reason, for scores without a value.
    """
    import numpy as np

    untold = Counter(name for _, name, _ in undetermined)
    timed = _have_times(own, chosen, first_apart=first_apart)
    found = {}
    # Without any answer, list the scores that would have been given; their values are unknown.
    declared = [
        name for name, score in (described or {}).items() if score.quality and score.bounded and not score.leads
    ]
    for name in dict.fromkeys([*ALWAYS, *(own.names(chosen & own.answered) or declared), *quality]):
        column = own.values(name, zeros=name in quality and name not in TIMES)
        counted = (timed if name in TIMES else chosen) & np.isfinite(column)
        given = column[counted & own.answered]
        # A scorer that calls its score bounded and leaves [0, 1] gets a mean, but no interval.
        kind = own.kinds.get(name)
        bounded = (kind is None or kind.bounded or not len(given)) and bool(((given >= 0) & (given <= 1)).all())
        values = column[counted].tolist()
        mean = fmean(values) if values else None
        interval = half = middle = None
        if mean is not None and bounded:
            # The repeats of a query may all agree, and count as one observation.
            wilson = wilson_interval(mean, len(np.unique(own["query"][counted])))
            interval = wilson.low, wilson.high
        elif values:
            middle, half = median(values), (quantile(sorted(values), 0.25), quantile(sorted(values), 0.75))
        description = (described or {}).get(name)
        found[name] = ScoreSummary(
            *(mean, interval, len(values), name, bounded, name in quality, middle, half, untold[name], description)
        )
    return found


def _reasons(found: Iterable[tuple[TrialRow, str, Failure]]) -> Iterator[Reason]:
    """Yield one reason for each kind of failure, or for each score, in the words of the first trial."""
    groups = group_by_key((item[1] or item[2].kind, item) for item in found)
    secrets = secret_values() if groups else ()
    for items in groups.values():
        row, score, failure = items[0]
        message = one_line(failure.message, MAX_MESSAGE)
        alike = sum(one_line(other.message, MAX_MESSAGE) == message for _, _, other in items)
        place = row.query_id, row.repeat, row.place
        yield Reason(failure.kind, row.status, len(items), redact(message, secrets), *place, score, alike)


def _tokens(attempts: TrialTable, *, has_prices: bool) -> Tokens:
    import numpy as np

    unpriced = np.isnan(attempts["cost"]) & (attempts["prompt_tokens"] + attempts["completion_tokens"] > 0)
    has_prices = not unpriced.any() and (has_prices or bool(np.isfinite(attempts["cost"]).any()))
    cost = float(np.nansum(attempts["cost"])) if has_prices and len(attempts) else None
    names = ("prompt_tokens", "completion_tokens", "requests", "unreported", "recorded_requests", "recorded_tokens")
    return replace(Tokens(*(int(attempts[name].sum()) for name in names)), cost=cost)


def _claims(answered: TrialTable) -> dict[str, Any]:
    import numpy as np

    found: dict[str, Any] = {kind: int(answered[f"{kind}_claims"].sum()) for kind in CLAIMED}
    for what in ("tokens", "turns"):
        said, seen = answered[f"claimed_{what}"], answered[f"observed_{what}"]
        known = np.isfinite(said) & np.isfinite(seen)
        totals = {"claimed": said[known].sum(), "observed": seen[known].sum(), "trials": known.sum()}
        totals["differ"] = (said[known] != seen[known]).sum()
        found[what] = {name: int(total) for name, total in totals.items()}
    return found


def _wire(own: TrialTable) -> dict[str, Any]:
    kinds = {name: Counter[str]() for name in ("finish_reasons", "refused", "lost")}
    for facts in own["facts"]:
        for name, total in kinds.items():
            total.update(facts[name] or ())
    found: dict[str, Any] = {"finish_reasons": dict(kinds["finish_reasons"])}
    for name, (column, unit, by_kind) in TALLIES.items():
        values = own[column].round()
        found[name] = {unit: int(values.sum()), "trials": int((values > 0).sum())}
        if by_kind:
            found[name][by_kind] = dict(kinds[column.removesuffix("_calls")])
    seen = [facts["own_calls"] for facts in own["facts"] if "own_calls" in facts]
    if seen:
        found["own_calls"] = {"calls": sum(seen), "trials": len(seen)}
    calls = int(own["api_calls"].sum()) - sum(seen)
    return found | {"cached_calls": {"calls": calls, "cached": int(own["cached_calls"].sum())}}


def _times(own: TrialTable, gold: Mapping[QueryId, GoldAnswer], *, first_apart: bool) -> Times:
    timed = _have_times(own, own.answered, first_apart=first_apart)
    first = own.answered & (own["first"] > 0)
    made = [gold[row.query_id].seconds for row in own if row.query_id in gold] if gold else []
    means = score_summaries(own, first, (), first_apart=False)
    return Times(
        gold=fmean(made) if made else None,
        gold_trials=len(made),
        answer=fmean(own["wall_time"][timed].tolist()) if timed.any() else None,
        timed=int(timed.sum()),
        evaluation=fmean(own["evaluation_time"][own.answered].tolist()) if own.answered.any() else None,
        first_trials=int(first.sum()),
        first_apart=bool(timed.sum() < own.answered.sum()),
        first={name: found.value for name, found in means.items() if name in TIMES},
    )


def _success(own: TrialTable) -> dict[str, dict[int, ScoreMean]]:
    """Return success in any of a query's k trials, and in all k.

    A trial succeeds if the judge finds its answer Solved; a failed one does not. Trials that were not measured or have
    no verdict are left out, and so is a query for each k above the number of its trials. Empty without repeats.
    """
    import numpy as np

    known = own.failed | (own.answered & np.isfinite(own.values(JUDGED, zeros=False)))
    solved = known & own.answered & (own["verdict"] == "Solved")
    counts = np.bincount(own["query"][known]).tolist()
    successes = np.bincount(own["query"][solved], minlength=len(counts)).tolist()
    outcomes = [(n, won) for n, won in zip(counts, successes, strict=True) if n]
    most = max(counts, default=0)
    numbers = range(1, most + 1) if most > 1 else ()

    def figure(k: int, estimate: Callable[[int, int, int], float]) -> ScoreMean:
        values = [estimate(n, won, k) for n, won in outcomes if n >= k]
        interval = wilson_interval(fmean(values), len(values))
        return ScoreMean(fmean(values), (interval.low, interval.high), len(values))

    estimates = {"any": pass_at_k, "each": pass_hat_k}
    return {name: {k: figure(k, estimate) for k in numbers} for name, estimate in estimates.items()}
