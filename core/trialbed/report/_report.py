"""The report of a run, and its means against thresholds."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from trialbed.errors import UsageError
from trialbed.records import (
    GoldAnswer,
    Query,
    Run,
    ScoreDescription,
    TrialResult,
    meant_labels,
    score_key,
    score_title,
    shown_name,
)
from trialbed.report._summary import QueryId, Summary, summarise
from trialbed.settings import MARGIN
from trialbed.store import StoredRun, TrialTable, require_frameworks, trials_frame
from trialbed.texts import number_of, number_were

if TYPE_CHECKING:
    from trialbed.report.comparison import FrameworkComparison, Ranks, RunComparison, Side


REPEATS = re.compile(r"pass([@^])([1-9]\d*)")
"""``pass@k`` and ``pass^k``, which repeats have."""


class ThresholdCheck(NamedTuple):
    """Whether the mean of a framework's score reaches ``least``; if it does not, ``problem`` says so in words."""

    framework: str
    score: str
    least: float
    problem: str


Queries = Mapping[QueryId, Query]

AskQueries = Callable[[], Queries | None]
"""Reads the queries of a run; None if its dataset is out of reach."""


@dataclass(frozen=True)
class Report:
    """The report of a run.

    Attributes:
        run: its settings and its state.
        frameworks: a summary of each, in the run's order.
        table: all trials that count.
        described: the scores that plugins describe, by name.
        gold: the answers to expected calls, if the run made them itself.
        results: yields attempts by their rows in the store, whole and in that order.
    """

    run: Run
    frameworks: tuple[Summary, ...]
    table: TrialTable = field(repr=False, compare=False)
    described: Mapping[str, ScoreDescription] = field(repr=False)
    gold: Mapping[QueryId, GoldAnswer] = field(repr=False)
    results: Callable[[Sequence[int]], Iterator[TrialResult]] = field(repr=False, compare=False)
    ask: AskQueries = field(repr=False, compare=False)

    @cached_property
    def queries(self) -> Queries:
        """The tasks by id; without texts and Apis if the dataset is out of reach."""
        found = self.ask()
        if found is not None:
            return found
        return {query_id: Query(query_id=query_id, text="", apis=()) for query_id in self.run.config.query_ids}

    @cached_property
    def sides(self) -> Mapping[str, Side]:
        """The frameworks as comparisons of runs take them."""
        from trialbed.report.comparison import run_sides

        return run_sides(self.run, self.table)

    def __getitem__(self, framework: str) -> Summary:
        """Return the summary of a framework, by its label in the run or by its name if that is unique."""
        labels = [summary.framework for summary in self.frameworks]
        meant = meant_labels(framework, labels) if isinstance(framework, str) else []
        if len(meant) != 1:
            raise KeyError(f"{framework!r} is not one framework of the report: {', '.join(labels)}")
        return self.frameworks[labels.index(meant[0])]

    @property
    def incomplete(self) -> bool:
        """True if the run has ended without measuring all of its trials."""
        return self.run.status == "incomplete"

    def __iter__(self) -> Iterator[TrialResult]:
        """Iterate over the trials, as ``trials()`` does."""
        return self.trials()

    def trials(self, framework: str | None = None) -> Iterator[TrialResult]:
        """Yield the trials that count as a whole, wire logs included, of one framework or of all.

        Trials of a stored run are read from the store, a part at a time.
        """
        table = self.table if framework is None else self[framework].trials
        return self.results(table["row"].tolist())

    def below(self, thresholds: Mapping[str, float] | None = None, /, **more: float) -> list[str]:
        """Return a line for each framework with a mean below a score's threshold, like ``--fail-under``.

        ``assert not report.below(sopr_score=0.8)`` fails with these lines. If trials of the run were not measured
        and could change the means, there is a line that says so: nothing is decided then.

        Args:
            thresholds: by score, for names that are no keywords, such as ``pass^3``, and for tasks with a tag:
                ``solved[billing]``.

        Raises:
            UsageError: there is no such score; lists the existing ones. A threshold is not a number, or not from 0
                to 1 for a share.
        """
        asked = {**(thresholds or {}), **more}
        check_values(asked, self.described)
        checks = check_thresholds(self.frameworks, asked)
        return [*(f"{check.framework}: {check.problem}" for check in checks if check.problem), *self._missing_trials()]

    def worse_than(
        self, baseline: str | os.PathLike[str], *, store: str | None = None, margin: float = MARGIN
    ) -> list[str]:
        """Return a line for each framework and score that is worse than in another run, as ``--fail-on-regression``.

        If trials of this run were not measured, there is a line that says so, as for ``below``. Warns if there are
        too few tasks for any line.

        Args:
            baseline: the id of a run in the store, or the path of a result document.
            store: the store of runs; None for the usual place.
            margin: the largest difference of a score that does not matter.

        Raises:
            UsageError, DataError: it is not a run that has all of its trials, or cannot be compared.
        """
        from trialbed.report.comparison import powerless_notes, regression_lines

        comparisons, void = self._against("worse_than", baseline, store, margin)
        for note in powerless_notes(comparisons):
            warnings.warn(f"worse_than: {note}; see lost_tasks()", stacklevel=2)
        return [*void, *regression_lines(comparisons), *self._missing_trials()]

    def lost_tasks(self, baseline: str | os.PathLike[str], *, store: str | None = None) -> list[str]:
        """Return a line for each framework that never solves a task that it always solved in another run.

        ``--fail-on-lost-task`` does the same. With an agent and a model that repeat themselves, one such task is a
        fact, even with few tasks.

        Raises:
            UsageError, DataError: as for ``worse_than``.
        """
        from trialbed.report.comparison import lost_task_lines

        comparisons, void = self._against("lost_tasks", baseline, store, MARGIN)
        return [*void, *lost_task_lines(comparisons), *self._missing_trials()]

    def _against(
        self, caller: str, baseline: str | os.PathLike[str], store: str | None, margin: float
    ) -> tuple[list[RunComparison], list[str]]:
        from trialbed.report.comparison import baseline_comparisons, complete_sides

        if not isinstance(baseline, (str, os.PathLike)):
            raise UsageError(
                f"{caller}: {baseline!r:.60} is neither the id of a run nor the path of a result document; for "
                "another report, give report.run.run_id"
            )
        return baseline_comparisons(complete_sides(os.fspath(baseline), store), list(self.sides.values()), margin)

    def _missing_trials(self) -> Iterator[str]:
        """Yield that nothing is decided by the means of a run that lacks trials."""
        if self.incomplete:
            missing = sum(summary.counts.not_measured for summary in self.frameworks)
            yield f"the run is incomplete, so nothing is decided: {number_were(missing, 'trial')} not measured"

    def to_frame(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row for each trial that counts, with its task and its answer.

        The other columns are the same as in ``open_run(…).to_frame()``.

        Raises:
            UsageError: pandas is not installed, which comes with the extra ``dataframe``.
        """
        frame = trials_frame(self.table, self.run)
        answers = [trial.outcome.answer for trial in self.trials()]
        frame["task"] = [self.queries[query_id].text for query_id in frame["query_id"]]
        frame["answer"] = [None if answer is None else answer.final_answer for answer in answers]
        return frame

    def __repr__(self) -> str:
        """Return the run in a line, for consoles."""
        setups = number_of(len(self.frameworks), "setup")
        return f"<Report on run {self.run.run_id} of {setups}: print it, or see .to_frame() and [label]>"

    def __str__(self) -> str:
        """Return the table of the run."""
        return _reporter_text(self, "table")

    def _repr_html_(self) -> str:
        """Return the tables, as a notebook shows them."""
        return _reporter_text(self, "html")


def check_values(thresholds: Mapping[str, float], described: Mapping[str, ScoreDescription]) -> None:
    """Check that thresholds are numbers, from 0 to 1 for shares, and not for a score that is better if lower.

    Raises:
        UsageError: a threshold is not.
    """
    for given, least in thresholds.items():
        name = score_key(given).partition("[")[0]
        if name in described and described[name].lower_is_better:
            raise UsageError(
                f"{given}: lower is better, so it has no minimum; use --fail-on-regression, or worse_than(run_id) in "
                "Python"
            )
        if not isinstance(least, (int, float)) or not math.isfinite(least):
            raise UsageError(f"{given}: {least!r:.60} is not a number")
        is_share = bool(REPEATS.fullmatch(name)) or (name in described and described[name].bounded)
        if is_share and not 0 <= least <= 1:
            raise UsageError(f"{given}: {least:g} is not a share; give a number from 0 to 1")


def check_thresholds(frameworks: Iterable[Summary], thresholds: Mapping[str, float]) -> Iterator[ThresholdCheck]:
    """Check the mean of every score of every framework.

    Failed trials are in the means of quality as 0. If such a score could not be determined for some trials, the worst
    possible mean counts: with 0 for these trials. A mean that is not known is below every threshold, and so is a void
    row's.

    Raises:
        UsageError: there is no such score or tag; lists the existing ones.
    """
    for summary in frameworks:
        for given, least in thresholds.items():
            name = score_key(given)
            void = summary.integrity.void
            mean, condition = _mean(summary, name)
            is_below = mean is None or mean < least
            shown = "not measured" if mean is None else f"{mean:.4g}{condition}"
            problem = f"{score_title(name)} is {shown}, below {least:g}" if is_below else ""
            problem = f"{score_title(name)} is not shown, as the row is void: {void}" if void else problem
            yield ThresholdCheck(summary.framework, name, least, problem)


def _mean(summary: Summary, name: str) -> tuple[float | None, str]:
    """Return a score's mean, of the tasks with a tag if it names one, and words on how it is taken."""
    name, bracket, tag = name.partition("[")
    if bracket:
        summary = summary.of_tag(tag.removesuffix("]"))
    if repeats := REPEATS.fullmatch(name):
        found = summary.success["any" if repeats[1] == "@" else "each"].get(int(repeats[2]))
        return found.value if found else None, ""
    score = summary.scores.get(name)
    if score is None:
        raise UsageError(
            f"there is no score {name!r}; the scores are {', '.join(sorted(map(shown_name, summary.scores)))}"
        )
    if score.value is None or not score.untold or not score.quality:
        return score.value, ""
    worst = score.value * score.denominator / (score.denominator + score.untold)
    return worst, f" at worst ({number_of(score.untold, 'trial')} could not be scored)"


def read_report(
    stored: StoredRun,
    queries: Queries | AskQueries | None = None,
    plugins: Any = None,
    *,
    against: str | None = None,
    margin: float | None = None,
    allow_incomplete: bool | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Report:
    """Report a run as the store holds it now.

    A run that has not ended, or that lacks trials, is ``incomplete``.

    Args:
        queries: the run's queries by id, or a function that reads them when they are looked at; None if the dataset is
            out of reach: their texts and expected Apis are not known then.
        plugins: describe scores, if the run does not keep it, and add their own figures: ``installed_listeners``.
        against: the framework that the others are compared with; None for the run's own, ``reference``, or the first.
        margin: the largest difference of a score that does not matter; None for the run's own.
        allow_incomplete: of a run that lacks trials, whether to compare its frameworks over the trials that all of them
            have; None for their figures over these without a verdict.
        renamed: as ``StoredRun.table`` takes it, such as for the verdicts of another judge.

    Raises:
        UsageError: ``against`` is not in the run.
    """
    record = require_frameworks(stored).record
    run = record if record.status == "finished" else record.model_copy(update={"status": "incomplete"})
    every, gold = stored.attempt_table(renamed), stored.gold_answers()
    table = every.take(every["counts"])
    results = partial(stored.results_at, renamed=renamed)
    # The scorers of the run may not be installed here, or have changed.
    known = {**(plugins.descriptions() if plugins else {}), **run.scores}
    summaries = summarise(run, table, every, known, gold, has_common=allow_incomplete is not False)
    against, is_whole = against or run.against, run.status == "finished"
    compared: Mapping[str, tuple[FrameworkComparison, ...]] = {}
    ranks: Ranks = {}
    if (len(summaries) > 1 or against) and (is_whole or (allow_incomplete and summaries[0].common is not None)):
        from trialbed.report.comparison import compare_frameworks, open_ranks, run_sides

        sides, most = run_sides(run, table), margin or run.margin
        compared = compare_frameworks(sides, against=against, margin=most)
        ranks = open_ranks(list(sides.values()), most) if is_whole else {}
    for place, one in enumerate(summaries):
        label = one.framework
        own = {score: found[label] for score, found in ranks.items() if label in found} if is_whole else None
        extra = plugins.aggregate(run, results(one.trials["row"].tolist())) if plugins else {}
        summaries[place] = replace(one, comparisons=compared.get(label, ()), ranks=own, extra=extra)
    ask = queries if callable(queries) else lambda: queries
    return Report(run, tuple(summaries), table, known, gold, results, ask)


def _reporter_text(report: Report, name: str) -> str:
    from io import StringIO
    from typing import cast

    from trialbed.contracts import Reporter
    from trialbed.drivers import load_driver

    stream = StringIO()
    cast("Reporter", load_driver("reporters", name)()).report(report, stream)
    return stream.getvalue()
