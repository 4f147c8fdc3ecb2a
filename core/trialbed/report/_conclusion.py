"""The result of a run in words: each framework in a sentence, why trials failed, and the worst queries."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trialbed.attribution import LOST_BY, USED, Attribution
from trialbed.records import NOT_MEASURED, failures_line, leading_scores, shown_name, varied_framework
from trialbed.report._metadata import in_words
from trialbed.report._report import Report
from trialbed.report._summary import QueryId, Reason, ScoreMean, Summary, WorstQuery
from trialbed.scoring import JUDGED
from trialbed.texts import number_of, percent, points

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
        baseline_unsure: the same of the baseline, where no conclusion of its own says it.
        finding: on this measure, against the run's baseline; None for the baseline itself.
        lost: what became of the expected calls, where that is known.
        missing: its trials that were not measured.
        measured: those that were.
        is_part: whether ``mean`` and ``finding`` are over a part of the queries, as trials of the run are missing.
        failures: kind -> those of them that failed.
        waits_for: the other frameworks whose missing trials are why there is no mean, as all of its own were measured.
        void: why there is no result that can be compared; empty where there is.
    """

    framework: str
    score: str
    mean: ScoreMean | None
    over: str
    unsure: int = 0
    baseline_unsure: int = 0
    finding: ScoreFinding | None = None
    lost: Attribution | None = None
    missing: int = 0
    measured: int = 0
    is_part: bool = False
    failures: Mapping[str, int] = field(default_factory=dict)
    waits_for: tuple[str, ...] = ()
    void: str = ""

    def __str__(self) -> str:
        """The sentence."""
        return self._sentence(self.loss, self._incomplete())

    @property
    def result(self) -> str:
        """The sentence without losses and missing trials, and without the kinds of failure if all trials failed."""
        said = self._sentence()
        return said.replace(f": {failures_line(self.failures.items())}", "", 1) if self.has_only_failed else said

    def _sentence(self, *more: str) -> str:
        if self.void:
            return f"{self.framework} has no result that counts, as its row is void: {self.void}."
        if self.mean is None or self.mean.value is None:
            return self._absence()
        share, found = percent(self.mean.value), self.finding
        if self.mean.interval and found is None:
            share += f" [{percent(self.mean.interval[0])}, {percent(self.mean.interval[1])}]"
        said = f"solves {share} of {self.over}{_as_half(self.unsure)}"
        if self.score != JUDGED:
            said = f"reaches {share} in {shown_name(self.score)} over {self.over}"
        said = f"{self._failed}; it {said}" if self.has_only_failed else f"{self.framework} {said}"
        if found is not None and (found.changed_queries or not self.has_only_failed):
            said += self._difference(found)
        return "; ".join(filter(None, (said, *more))) + "."

    @property
    def has_only_failed(self) -> bool:
        """True where trials were measured, and each of them failed."""
        return 0 < self.measured == sum(self.failures.values())

    @property
    def _failed(self) -> str:
        """The beginning of a sentence on one whose trials all failed, which no figure may hide."""
        trials = "its one trial" if self.measured == 1 else f"all {self.measured:,} trials"
        return f"{self.framework} failed in {trials}: {failures_line(self.failures.items())}"

    def _absence(self) -> str:
        if self.has_only_failed:
            return f"{'; '.join(filter(None, (self._failed, self._incomplete())))}."
        if self.missing:
            return f"{self.framework} has no result yet: {_trials(self.missing)} not measured."
        if self.waits_for:
            others = in_words([f"{name}'s" for name in self.waits_for])
            whole = f"{self.measured:,} of {number_of(self.measured, 'trial')} measured"
            return f"{self.framework}: {whole}; its result is not shown, because {others} are missing."
        none = "its one trial has no" if self.measured == 1 else f"none of its {self.measured:,} trials has"
        return f"{self.framework} has no result: {none} {shown_name(self.score)}."

    def _difference(self, found: ScoreFinding) -> str:
        baseline = f"{found.baseline}{_as_half(self.baseline_unsure)}"
        if found.verdict == "identical":
            return f", the same as {baseline} on every query{' that was measured for both' if self.is_part else ''}"
        if found.verdict == "equivalent":
            return f", shown to be within {100 * found.margin:g} points of {baseline}"
        apart = f"{points(found.difference)} {'more' if found.difference > 0 else 'less'} than {baseline}"
        if found.is_difference:
            return f", {apart} (shown: p {'<0.001' if found.p_adjusted < 0.001 else f'{found.p_adjusted:.3f}'})"
        enough = ""
        if found.enough is not None:
            shown = "it" if found.enough.shows == "difference" else f"less than {100 * found.margin:g} points"
            queries = number_of(found.enough.queries, "query", "queries")
            enough = f", about {queries} would be enough to show {shown}"
        if points(found.difference) == points(0):
            return f", as many as {baseline} but not the same; nothing is shown yet{enough}"
        return f", {apart}; not yet shown{enough}"

    @property
    def loss(self) -> str:
        """What most losses are due to, as a clause; empty where nothing was lost, or that is not known."""
        counts: Mapping[str, int] = self.lost.counts if self.lost and not self.has_only_failed else {}
        stages = {stage: count for stage, count in counts.items() if stage != USED and count}
        if not stages:
            return ""
        lost, used, most = sum(stages.values()), counts.get(USED, 0), max(stages, key=lambda stage: stages[stage])
        words = LOSSES[most].replace("were ", "was ", 1) if stages[most] == 1 else LOSSES[most]
        by_framework = self.lost.losers.get("framework", 0) if self.lost else 0
        if 2 * by_framework > lost and LOST_BY.get(most, "framework") != "framework":
            # Where the framework ended a run, or offered other tools, the stage alone would put it down to the model.
            words = words.removesuffix(" by the model")
            where = "" if lost == 1 else f", and {_all(lost) if stages[most] == lost else f'{stages[most]:,}'} {words}"
            are = "is" if by_framework == 1 else "are"
            return f"{_of_lost(by_framework, lost, used)} {are} put down to the framework{where}"
        return f"{_of_lost(stages[most], lost, used)} {words}"

    def _incomplete(self) -> str:
        due, were = number_of(self.missing + self.measured, "trial"), "was" if self.missing == 1 else "were"
        return f"{self.missing:,} of its {due} {were} not measured" if self.missing else ""


def conclusions(report: Report) -> tuple[Conclusion, ...]:
    """Return a conclusion for each framework of a run: those that only failed come first, then shown differences.

    In an incomplete run of several frameworks, the figures are over the trials that were measured for each of them.
    """
    found = list[Conclusion]()
    late = tuple(one.framework for one in report.frameworks if one.counts.not_measured)
    for one in report.frameworks:
        config, whole = report.run.config, len(report.frameworks) == 1 or not report.incomplete
        counts, judged = one.counts, one.scores.get(JUDGED)
        scores: Mapping[str, ScoreMean] = one.scores if whole else one.common.scores if one.common else {}
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
                is_part=not whole,
                failures={kind: count for kind, count in counts.failures.items() if kind not in NOT_MEASURED},
                waits_for=() if whole else late,
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
    absent = sum(bool(one.void) or one.mean is None or one.mean.value is None for one in found)
    shares = [one.mean.value for one in found if not one.void and one.mean and one.mean.value is not None]
    missing = sum(one.missing for one in found) if shares else 0
    end = f" The run is incomplete: {_trials(missing)} not measured." if missing else ""
    if len(found) <= 2:
        compared = [one for one in found if one.finding is not None]
        return " ".join(one.result for one in compared or found) + end
    if not shares:
        return f"No result of {len(found)} setups is shown."
    first = next(one for one in found if not one.void and one.mean is not None)
    low, high = percent(min(shares)), percent(max(shares))
    between = low if low == high else f"from {low} to {high}"
    what = f" of {first.over}" if first.score == JUDGED else f" in {shown_name(first.score)} over {first.over}"
    said = f"{len(shares)} setups {'solve' if first.score == JUDGED else 'reach'} {between}{what}"
    without = f", {absent} {'has' if absent == 1 else 'have'} no result" if absent else ""
    return f"{said}{without}{_shown(found)}.{end}"


def _shown(conclusions: Sequence[Conclusion]) -> str:
    """Return how many setups are shown to be better or worse than what they are compared with, as a clause."""
    findings = [(one.framework, one.finding) for one in conclusions if one.finding is not None]
    if not findings:
        return ""
    baselines = {finding.baseline for _, finding in findings}
    against = baselines.pop() if len(baselines) == 1 else "what each is compared with"
    if len(plain := {varied_framework(name) for name in baselines}) == 1:
        against = f"{plain.pop()} with the same settings"
    shown = {word: [name for name, finding in findings if finding.verdict == word] for word in ("better", "worse")}
    told = [(word, _few(names)) for word, names in shown.items() if names]
    if not told:
        return f"; none is shown to be better or worse than {against}"
    (word, names), *rest = told
    return f"; shown to be {word} than {against}: {names}{''.join(f'; {word}: {names}' for word, names in rest)}"


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
    found = [one for one in conclusions(report) if not one.void]
    lost = [sum(one.lost.counts.values()) - one.lost.counts.get(USED, 0) if one.lost else 0 for one in found]
    losers = [one for one, calls in zip(found, lost, strict=True) if calls == max(lost) and one.loss]
    if not losers:
        return ""
    loss = losers[0].loss
    alike = [one.framework for one in losers if one.loss == loss]
    loss = loss if len(alike) == 1 else loss.replace(" of its ", " of each one's ")
    return f"{_few(alike)}, {loss}."


def _few(names: Sequence[str]) -> str:
    return in_words(names) if len(names) <= MOST_NAMES else f"{len(names)} setups"


def _of_lost(count: int, lost: int, used: int) -> str:
    """Return how many of the expected calls were used, and how many of the others the rest of the sentence is about."""
    if lost + used == 1:
        return "its one expected call"
    if not used:
        part = _all(lost) if count == lost else f"{count:,} of them"
        return f"none of its {lost:,} expected calls was used: {part}"
    head = f"{used:,} of its {lost + used:,} expected calls {'was' if used == 1 else 'were'} used"
    if lost == 1:
        return f"{head}, and the other one"
    return f"{head}, and {f'all the other {lost:,}' if count == lost else f'{count:,} of the other {lost:,}'}"


def _all(count: int) -> str:
    return "both" if count == 2 else "all"


def _as_half(unsure: int) -> str:
    return f" (with {unsure:,} unsure as half)" if unsure else ""


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


def _trials(count: int) -> str:
    return f"{number_of(count, 'trial')} {'was' if count == 1 else 'were'}"


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """Return the queries on which most went wrong, the worst first; none if everything went right.

    Trials that were not measured come last.
    """
    import numpy as np

    table = report.table
    # The mean of the scores that say how a trial went; one without a value is 0.
    means = np.mean([np.nan_to_num(table.values(name, zeros=True)) for name in JUDGING], axis=0)
    counts = table["api_errors"] + table["invalid_calls"] + table["request_errors"]
    flawed = (~table.answered | (means < 1) | (counts > 0)).tolist()
    quality, faults, measured = means.tolist(), counts.tolist(), table.measured.tolist()
    by_query: dict[int, list[int]] = {}
    for place, number in enumerate(table["query"].tolist()):
        by_query.setdefault(number, []).append(place)

    def order(places: list[int]) -> tuple[bool, float, float]:
        known = [quality[place] for place in places if measured[place]]
        return not known, round(sum(known) / max(len(known), 1), DIGITS), -sum(faults[place] for place in places)

    found = []
    for places in sorted((own for own in by_query.values() if any(flawed[at] for at in own)), key=order)[:most]:
        rows = list(map(table.row, places))
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
    groups: dict[Reason, list[str]] = {}  # alike but for the score, such as two counts of tokens
    for found in summary.untold:
        if asked or found.kind != "model":
            groups.setdefault(replace(found, score=""), []).append(shown_name(found.score))
    for found, scores in groups.items():
        told.append((f"{', '.join(scores)} could not be determined for {number_of(found.count, 'trial')}", found))
    for said, found in told:
        part = "the first" if found.alike == 1 else str(found.alike)
        some = "" if found.alike == found.count else f"; {part} of them"
        name = trial_name(summary.framework, found.query_id, found.repeat)
        command = shlex.join(["bench", "show", summary.run.run_id, name])
        reason = f"{found.message.rstrip('.')} [query {found.query_id}: {command}]"
        yield f"{said} ({found.kind}){some}: {reason}"
