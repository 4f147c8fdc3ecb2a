"""The result of a run in words: each framework in a sentence, why trials failed, and the worst queries."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from trialbed.attribution import LOST_BY, USED, Attribution
from trialbed.records import NOT_MEASURED, failures_line, leading_scores, shown_name
from trialbed.report._metadata import in_words
from trialbed.report._report import Report
from trialbed.report._summary import QueryId, Reason, ScoreMean, Summary, WorstQuery
from trialbed.scoring import JUDGED
from trialbed.texts import group_by_key, number_of, number_were, percent, points

if TYPE_CHECKING:
    from trialbed.report.comparison import ScoreFinding

LOSSES = {
    "not offered": "were not offered to the model",
    "not called": "were never made by the model",
    "wrong arguments": "had wrong arguments",
    "not made": "were asked for and not made by the framework",
    "api failed": "were answered with an error",
    "trial failed": "were lost in trials that failed",
    "not used": "had results of which nothing is in the answer",
}
"""The stage at which expected calls were lost, in words."""

BASELINE = "baseline"

MOST_NAMES = 3
"""Setups that a sentence about many of them names."""

SHOWN = 5
"""Queries that are listed if no other number is asked for."""

DIGITS = 12
"""Digits to which a mean quality is rounded: the same trials in another order must give the same one."""

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""


@dataclass(frozen=True)
class Conclusion:
    """The result of one framework: the finding, by how much, how sure it is, and what most losses are due to.

    Attributes:
        score: the measure that leads: the dataset's own, else ``sopr_score``.
        mean: of that measure; None where there is none.
        over: the queries or trials that the mean is over, in words.
        unsure: trials that count half in ``sopr_score``.
        finding: on this measure, against the run's baseline; None for the baseline itself.
        lost: what became of the expected calls, where that is known.
        missing: its trials that were not measured.
        measured: those that were.
        failures: kind -> those of them that failed.
        void: why there is no result that can be compared; empty where there is.
    """

    framework: str
    score: str
    mean: ScoreMean | None
    over: str
    unsure: int = 0
    finding: ScoreFinding | None = None
    lost: Attribution | None = None
    missing: int = 0
    measured: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    void: str = ""

    def __str__(self) -> str:
        """The sentence."""
        if self.void or (self.share is None and not self.has_only_failed):
            return self.result
        due, were = number_of(self.missing + self.measured, "trial"), "was" if self.missing == 1 else "were"
        missing = f"{self.missing:,} of its {due} {were} not measured" if self.missing else ""
        return "; ".join(filter(None, (self.result.removesuffix("."), self.loss, missing))) + "."

    @property
    def share(self) -> float | None:
        """The mean, as far as there is one that counts."""
        return None if self.void or self.mean is None else self.mean.value

    @property
    def has_only_failed(self) -> bool:
        """True where trials were measured, and each of them failed."""
        return 0 < self.measured == sum(self.failures.values())

    @property
    def result(self) -> str:
        """The sentence without losses and missing trials."""
        if self.void:
            return f"{self.framework} has no result that counts, as its row is void: {self.void}."
        failed = ""
        if self.has_only_failed:  # no figure may hide it
            trials = "its one trial" if self.measured == 1 else f"all {self.measured:,} trials"
            failed = f"{self.framework} failed in {trials}: {failures_line(self.failures.items())}"
        if self.mean is None or self.mean.value is None:
            missing = f" yet: {number_were(self.missing, 'trial')} not measured" if self.missing else ""
            return f"{failed or f'{self.framework} has no result{missing}'}."
        share, found = percent(self.mean.value), self.finding
        if self.mean.interval and found is None:
            share += f" [{percent(self.mean.interval[0])}, {percent(self.mean.interval[1])}]"
        said = f"reaches {share} in {shown_name(self.score)} over {self.over}"
        if self.score == JUDGED:
            half = f" (with {self.unsure:,} unsure as half)" if self.unsure else ""
            said = f"solves {share} of {self.over}{half}"
        said = f"{failed}; it {said}" if failed else f"{self.framework} {said}"
        return f"{said}{_difference(found) if found and (found.changed_queries or not failed) else ''}."

    @property
    def loss(self) -> str:
        """What most losses are due to, as a clause; empty where nothing was lost, or that is not known."""
        if self.lost is None or self.has_only_failed:
            return ""
        stages = {stage: count for stage, count in self.lost.counts.items() if stage != USED}
        lost, used = sum(stages.values()), self.lost.counts.get(USED, 0)
        if not lost:
            return ""
        most = max(stages, key=lambda stage: stages[stage])
        count, words = stages[most], LOSSES[most]
        by_framework = self.lost.losers.get("framework", 0)
        if 2 * by_framework > lost and LOST_BY.get(most, "framework") != "framework":
            # Where the framework ended a run, or offered other tools, the stage alone would put it down to the model.
            count, words = by_framework, "are put down to the framework"
        words = words.replace("were ", "was ", 1).replace("are ", "is ", 1) if count == 1 else words
        if lost + used == 1:
            return f"its one expected call {words}"
        if not used:
            part = "all" if count == lost else f"{count:,} of them"
            return f"none of its {lost:,} expected calls was used: {part} {words}"
        head = f"{used:,} of its {lost + used:,} expected calls {'was' if used == 1 else 'were'} used"
        rest = "the other one" if lost == 1 else f"the other {lost:,}"
        return f"{head}, and {rest if count == lost else f'{count:,} of {rest}'} {words}"


def _difference(found: ScoreFinding) -> str:
    if found.verdict == "identical":
        return f", the same as {found.baseline} on every query"
    if found.verdict == "equivalent":
        return f", shown to be within {100 * found.margin:g} points of {found.baseline}"
    from trialbed.report.comparison import finding_cells

    apart = f", {points(found.difference)} {'more' if found.difference > 0 else 'less'} than {found.baseline}"
    if found.is_difference:
        return f"{apart} (shown: p {finding_cells(found)[0]})"
    if found.enough is None:
        return f"{apart}; not yet shown"
    shown = "it" if found.enough.shows == "difference" else f"less than {100 * found.margin:g} points"
    queries = number_of(found.enough.queries, "query", "queries")
    return f"{apart}; not yet shown, about {queries} would be enough to show {shown}"


def conclusions(report: Report) -> tuple[Conclusion, ...]:
    """Return a conclusion for each framework of a run: those that only failed come first, then shown differences.

    In an incomplete run of several frameworks, the figures are over the trials that were measured for each of them.
    """
    found = list[Conclusion]()
    for one in report.frameworks:
        config, whole = report.run.config, len(report.frameworks) == 1 or not report.incomplete
        counts, judged = one.counts, one.scores.get(JUDGED)
        scores: Mapping[str, ScoreMean] = one.scores if whole else one.common or {}
        # The measure that leads; where the judge failed to give verdicts, none takes their place.
        names = [*leading_scores(report.run.scores), JUDGED]
        names += [] if judged and judged.untold else ["api_call_score"]
        known = (name for name in names if (mean := scores.get(name)) and mean.value is not None)
        leading = next(known, next((name for name in names if name in scores), JUDGED))
        count = scores[leading].denominator if leading in scores else 0
        over = number_of(len(config.query_ids), "query", "queries")
        if not whole:
            measured = "one trial that was" if count == 1 else f"{count:,} trials that were"
            over = f"the {measured} measured for every framework"
        elif count != len(config.query_ids) * config.repeat:
            over = f"{count:,} of {number_of(len(config.query_ids) * config.repeat, 'trial')}"
        elif config.repeat > 1:
            over += f" asked {config.repeat} times each"
        found.append(
            Conclusion(
                framework=one.framework,
                score=leading,
                mean=scores.get(leading),
                over=over,
                unsure=counts.unsure if whole and leading == JUDGED else 0,
                finding=summary_finding(one, leading),
                lost=one.attribution if whole else None,
                missing=counts.not_measured if report.incomplete else 0,
                measured=counts.answered + counts.failed,
                failures={kind: count for kind, count in counts.failures.items() if kind not in NOT_MEASURED},
                void=one.integrity.void,
            )
        )
    is_open = {one.framework: one.finding is not None and not one.finding.is_difference for one in found}
    found.sort(key=lambda one: (not one.has_only_failed, one.finding is None, is_open[one.framework]))
    return tuple(found)


def headline(report: Report) -> str:
    """Return the result of a run in one sentence, or in one for each of two setups without a common one.

    Another one says how many trials the whole run lacks, if there is any result without them.
    """
    found = conclusions(report)
    with_result = [one for one in found if one.share is not None]
    missing = sum(one.missing for one in found) if with_result else 0
    end = f" The run is incomplete: {number_were(missing, 'trial')} not measured." if missing else ""
    end += _sources(report)
    if len(found) <= 2:
        compared = [one for one in found if one.finding is not None]
        return " ".join(one.result for one in compared or found) + end
    if not with_result:
        return f"No result of {len(found)} setups is shown."
    first, shares = with_result[0], sorted(one.share for one in with_result if one.share is not None)
    low, high = percent(shares[0]), percent(shares[-1])
    between = low if low == high else f"from {low} to {high}"
    said = f"{len(shares)} setups reach {between} in {shown_name(first.score)} over {first.over}"
    if first.score == JUDGED:
        said = f"{len(shares)} setups solve {between} of {first.over}"
    absent = len(found) - len(shares)
    said += f", {absent} {'has' if absent == 1 else 'have'} no result" if absent else ""
    findings = [(one.framework, one.finding) for one in found if one.finding is not None]
    if not findings:
        return f"{said}.{end}"
    baselines = {finding.baseline for _, finding in findings}
    against = baselines.pop() if len(baselines) == 1 else "the baseline with the same settings"
    shown = {word: [name for name, finding in findings if finding.verdict == word] for word in ("better", "worse")}
    told = [
        f"shown to be {word} than {against}: {in_words(names) if len(names) <= MOST_NAMES else f'{len(names)} setups'}"
        for word, names in shown.items()
        if names
    ]
    return f"{said}; {'; '.join(told) or f'none is shown to be better or worse than {against}'}.{end}"


def _sources(report: Report) -> str:
    """Return a sentence on the setups whose calls are those of the agent's own tools; empty if there are none."""
    own = [one.framework for one in report.frameworks if "own_calls" in one.wire]
    if not own:
        return ""
    others = [one.framework for one in report.frameworks if one.wire["cached_calls"]["calls"]]
    rest = f"; those of {in_words(others)} are measured at the server" if others else ""
    tools = "its own tools" if len(own) == 1 else "their own tools"
    return f" Calls of {in_words(own)} to {tools} are read from the conversation{rest}."


def main_loss(report: Report) -> str:
    """Return the cause of most losses of a run, with the setup that had them; empty if nothing was lost.

    Trials that failed come before calls that were lost.
    """
    summaries = [one for one in report.frameworks if not one.integrity.void]
    failed = max(summaries, key=lambda one: one.counts.failed, default=None)
    reasons = [] if failed is None else [one for one in failed.failures if one.status == "failed"]
    if failed is not None and reasons:
        first, count = reasons[0], failed.counts.failed
        part = f", {first.alike:,} of them" if first.alike < count else ""
        trials = f"{count:,} of {number_of(failed.counts.trials, 'trial')}"
        return f"{failed.framework}, {trials} failed{part} ({first.kind}): {first.message.rstrip('.')}."
    losers = [
        (sum(one.lost.counts.values()) - one.lost.counts.get(USED, 0), f"{one.framework}, {one.loss}.")
        for one in conclusions(report)
        if one.lost and one.loss and not one.void
    ]
    return max(losers, key=itemgetter(0))[1] if losers else ""


def summary_finding(summary: Summary, score: str) -> ScoreFinding | None:
    """Return the finding of a setup on a score, against the baseline that has the same model."""
    models = {cell.label: cell.model for cell in summary.run.config.cells}
    found = (one.scores.get(score) for one in summary.comparisons if one.kind == "reference")
    own = models[summary.framework]
    return next((one for one in found if one and models.get(one.baseline, own) == own), None)


def verdict(summaries: Sequence[Summary], summary: Summary, score: str) -> str:
    """Return the verdict on a setup by a score: ``baseline`` for the one that others are compared with."""
    if found := summary_finding(summary, score):
        from trialbed.report.comparison import finding_cells

        return finding_cells(found)[1]
    findings = (summary_finding(other, score) for other in summaries)
    return BASELINE if summary.framework in {one.baseline for one in findings if one} else ""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """Return the queries on which most went wrong, the worst first; none if everything went right.

    Trials that were not measured come last.
    """
    import numpy as np

    table, found = report.table, list[WorstQuery]()
    # The mean of the scores that say how a trial went; one without a value is 0.
    quality = np.mean([np.nan_to_num(table.values(name, zeros=True)) for name in JUDGING], axis=0)
    faults = table["api_errors"] + table["invalid_calls"] + table["request_errors"]
    flawed = ~table.answered | (quality < 1) | (faults > 0)
    means = table.means(np.where(table.measured, quality, np.nan)).round(DIGITS)
    met, flaws = (np.bincount(table["query"], counts, len(table.queries)) for counts in (faults, flawed))
    for query in [query for query in np.lexsort((-met, means)).tolist() if flaws[query]][:most]:
        rows = [table.row(place) for place in np.flatnonzero(table["query"] == query).tolist()]
        worst = min(
            (row for row in rows if flawed[row.place]),
            key=lambda row: (row.status == "not measured", quality[row.place], -faults[row.place]),
        )
        found.append(WorstQuery(worst.query_id, report.queries[worst.query_id].text, rows, worst))
    return found


def trial_name(framework: str, query: QueryId, repeat: int = 0) -> str:
    """Return the name of a trial within its run, as ``bench show`` takes it: ``reference/17/2``."""
    # In quotes if a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{repeat}" if repeat else "")


def how_to_complete(summaries: Collection[Summary]) -> str:
    """Return the command that runs the trials that were not measured, as a clause."""
    kinds = {reason.kind for summary in summaries for reason in summary.failures}
    if "replay" in kinds:
        return "the same command with --on-miss ask puts to the model what its recording lacks"
    if "tool" in kinds:
        return "fix the tool first; the same command then runs what is missing"
    larger = " with a larger --budget" if any(summary.run.over_budget for summary in summaries) else ""
    return f"the same command{larger} runs what is missing"


def reason_lines(summary: Summary) -> Iterator[str]:
    """The reasons in words: why trials failed or were not measured, and scores could not be determined.

    Each ends with the command that shows all of the first such trial.
    """
    trials = summary.counts.trials
    told: list[tuple[str, Reason]] = []
    for found in summary.failures:
        verb = "failed" if found.status == "failed" else f"{'was' if trials == 1 else 'were'} not measured"
        told.append((f"{found.count} of {number_of(trials, 'trial')} {verb}", found))
    # An agent with a model of its own, which the gateway does not see, has no tokens to be counted.
    asked = summary.tokens.requests > 0
    untold = (found for found in summary.untold if asked or found.kind != "model")
    # Some are alike but for the score, such as two counts of tokens.
    groups = group_by_key((replace(found, score=""), shown_name(found.score)) for found in untold)
    for found, scores in groups.items():
        told.append((f"{', '.join(scores)} could not be determined for {number_of(found.count, 'trial')}", found))
    for said, found in told:
        part = "the first" if found.alike == 1 else str(found.alike)
        some = "" if found.alike == found.count else f"; {part} of them"
        name = trial_name(summary.framework, found.query_id, found.repeat)
        command = shlex.join(["bench", "show", summary.run.run_id, name])
        reason = f"{found.message.rstrip('.')} [query {found.query_id}: {command}]"
        yield f"{said} ({found.kind}){some}: {reason}"
