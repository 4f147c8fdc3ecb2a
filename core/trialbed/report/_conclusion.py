"""The result of a run in words, with a sentence for each framework, the reasons for failures, and the hardest tasks."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from trialbed.attribution import LOST_BY, USED, Attribution
from trialbed.records import NOT_MEASURED, failures_line, leading_scores, score_title
from trialbed.report._metadata import in_words
from trialbed.report._report import Report
from trialbed.report._summary import QueryId, Reason, ScoreMean, Summary, TrialRow, WorstQuery
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
"""Stage -> how expected calls were lost there, in words."""

BASELINE = "baseline"

MOST_NAMES = 3
"""Setups that a sentence about many of them names."""

EXAMPLES = 3
"""Trials that a report shows."""

SHOWN = 5
"""Queries that are listed if no other number is asked for."""

DIGITS = 12
"""Digits for rounding mean qualities, because the same trials in another order must give the same one."""

TOKENS, COST = "total_tokens", "cost"

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""


@dataclass(frozen=True)
class Conclusion:
    """The result of one framework: the finding with its size and certainty, and the cause of most losses.

    Attributes:
        score: the leading measure, which is the dataset's own, or else ``sopr_score``.
        mean: of that measure, or None.
        over: the tasks or trials that the mean is over, in words.
        unsure: trials that count half in ``sopr_score``.
        finding: on this measure, against the run's baseline; None for the baseline itself.
        lost: what became of the expected calls, if that is known.
        missing: the number of its unmeasured trials.
        measured: the number of its measured trials.
        failures: kind -> failed trials among the measured ones.
        void: why the result cannot be compared; empty if it can.
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
        """Return the sentence."""
        if self.void or (self.share is None and not self.has_only_failed):
            return self.result
        due, were = number_of(self.missing + self.measured, "trial"), "was" if self.missing == 1 else "were"
        missing = f"{self.missing:,} of its {due} {were} not measured" if self.missing else ""
        return "; ".join(filter(None, (self.result.removesuffix("."), self.loss, missing))) + "."

    @property
    def share(self) -> float | None:
        """Return the mean if it counts, or None."""
        return None if self.void or self.mean is None else self.mean.value

    @property
    def has_only_failed(self) -> bool:
        """True if trials were measured, and all of them failed."""
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
        said = f"reaches {share} in {score_title(self.score)} over {self.over}"
        if self.score == JUDGED:
            half = f" (with {self.unsure:,} unsure as half)" if self.unsure else ""
            said = f"solves {share} of {self.over}{half}"
        said = f"{failed}; it {said}" if failed else f"{self.framework} {said}"
        return f"{said}{_difference(found) if found and (found.changed_queries or not failed) else ''}."

    @property
    def loss(self) -> str:
        """Return the cause of most losses as a clause; empty if nothing was lost, or the cause is not known."""
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
            # If the framework ended a run, or offered other tools, the stage alone would blame the model.
            count, words = by_framework, "were lost in the framework"
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
        return f", the same as {found.baseline} on every task"
    if found.verdict == "equivalent":
        return f", shown to be within {100 * found.margin:g} points of {found.baseline}"
    from trialbed.report.comparison import finding_cells

    apart = f", {points(found.difference)} {'more' if found.difference > 0 else 'less'} than {found.baseline}"
    if found.is_difference:
        return f"{apart} (significant: p {finding_cells(found)[0]})"
    if found.enough is None:
        return f"{apart}; not significant"
    return f"{apart}; not significant yet, about {number_of(found.enough.queries, 'task')} would settle it"


def conclusions(report: Report) -> tuple[Conclusion, ...]:
    """Return the conclusions on a run's frameworks, total failures first, then shown differences.

    In an incomplete run of several frameworks, the figures are over the trials that were measured for all of them.
    """
    found = list[Conclusion]()
    for one in report.frameworks:
        config, whole = report.run.config, len(report.frameworks) == 1 or not report.incomplete
        counts, judged = one.counts, one.scores.get(JUDGED)
        scores: Mapping[str, ScoreMean] = one.scores if whole else one.common or {}
        # The leading measure; if the judge failed to give verdicts, no other measure replaces them.
        names = [*leading_scores(report.run.scores), JUDGED]
        names += [] if judged and judged.untold else ["api_call_score"]
        known = (name for name in names if (mean := scores.get(name)) and mean.value is not None)
        leading = next(known, next((name for name in names if name in scores), JUDGED))
        count = scores[leading].denominator if leading in scores else 0
        over = number_of(len(config.query_ids), "task")
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


def lead_sentences(report: Report) -> list[str]:
    """Return the first sentences of a report, with the result, and the cause of most losses if there were any."""
    return [headline(report), *(f"Most losses: {loss}" for loss in [main_loss(report)] if loss)]


def headline(report: Report) -> str:
    """Return the result of a run in a sentence about all of its setups.

    Further sentences say how many trials the run lacks, and which setups' calls are read from the conversation.
    """
    found, with_result = conclusions(report), _best_first(report)
    absent = [one.framework for one in found if one.share is None and not one.void]
    missing = sum(one.missing for one in found)
    lacks = f"{number_were(missing, 'trial')} not measured"
    if len(found) == 1:
        said = found[0].result.removesuffix(".")
    elif with_result:
        said = _sentence_on(with_result, report.run.config.repeat)
        failed = [one for one in with_result if one.has_only_failed]
        reasons = ", ".join(dict.fromkeys(failures_line(one.failures.items()) for one in failed))
        said += f"; {_names(failed)} failed in every trial ({reasons})" if failed else ""
        said += f"; {in_words(absent)} {'has' if len(absent) == 1 else 'have'} no result" if absent else ""
    else:
        said = f"No setup has a result{f' yet: {lacks}' if missing else ''}"
    said += "".join(f"; {one.result.removesuffix('.')}" for one in found if one.void and len(found) > 1)
    end = f" The run is incomplete: {lacks}." if missing and with_result else ""
    return f"{said}.{end}{_sources(report)}"


def _best_first(report: Report) -> list[Conclusion]:
    """Return the conclusions with a share, the highest first; equal shares are in the run's order."""
    order = [one.framework for one in report.frameworks]
    found = ((one, one.share) for one in conclusions(report))
    known = [(-share, order.index(one.framework), one) for one, share in found if share is not None]
    return [one for *_, one in sorted(known, key=itemgetter(0, 1))]


def _sentence_on(found: Sequence[Conclusion], repeat: int) -> str:
    """Return what several setups with results solve, the best first, and which differences are significant."""
    from trialbed.report.comparison import finding_cells

    first, over = found[0], found[0].over
    solve, solves = ("solve", "solves") if first.score == JUDGED else ("reach", "reaches")
    measure = "" if first.score == JUDGED else f" in {score_title(first.score)}"
    all_solve, share = (
        f"{_names(found)} {_verb(found, solve, solves)}",
        f"{_span(found)}{measure} {'over' if measure else 'of'} {over}",
    )
    compared = [(one, one.finding) for one in found if one.finding is not None]
    if not compared:
        return f"{all_solve} {share}"
    baselines = {finding.baseline for _, finding in compared}
    baseline = next((one for one in found if {one.framework} == baselines), None)
    against = "the baseline with the same settings" if baseline is None else baseline.framework
    by_verdict: Mapping[str, list[Conclusion]] = group_by_key((str(own.verdict), one) for one, own in compared)
    undecided = by_verdict.get("too few", [])
    if by_verdict.keys() & {"better", "worse"}:
        clauses = [f"{against} {solves} {_span([baseline])}{measure}"] if baseline else []
        than = "" if baseline else f" than {against}"
        for verdict, word in (("better", "more"), ("worse", "less" if measure else "fewer")):
            if own := by_verdict.get(verdict, []):
                p = f", p {finding_cells(own[0].finding)[0]}" if len(own) == 1 else ""
                clauses.append(f"{_names(own)} {_verb(own, solve, solves)} {word}{than} ({_span(own)}{p})")
        for verdict, words in (("identical", "the same"), ("equivalent", "about as many")):
            if own := by_verdict.get(verdict, []):
                clauses.append(f"{_names(own)} {_verb(own, solve, solves)} {words}{than.replace('than', 'as')}")
        if undecided:
            clauses.append(f"for {_names(undecided)} no difference is significant{_enough(undecided)}")
        return f"Of {over}, {'; '.join(clauses)}"
    if undecided:
        leaders = [one for one in found if one.share == first.share]
        if len(leaders) == len(found):
            return f"{all_solve} {share}, but not the same; no difference is significant{_enough(undecided)}"
        who = f"{_names(leaders)} {_verb(leaders, solve, solves)} most{measure} ({_span(leaders)})"
        other = "it" if leaders == [baseline] else against
        return f"{who}, but with {over} no difference from {other} is significant{_enough(undecided)}"
    once = " (one trial each)" if repeat == 1 else ""
    if by_verdict.keys() == {"identical"}:
        return f"{all_solve} the same{'' if baseline else ' as their baselines:'} {share}{once}"
    alike, near = by_verdict["equivalent"], f"within {100 * compared[0][1].margin:g} points of {against}"
    return f"{all_solve} {share}; {_names(alike)} {_verb(alike, 'are', 'is')} shown to be {near}{once}"


def _names(found: Sequence[Conclusion]) -> str:
    """Return the names of a few setups, and the number of many."""
    return in_words([one.framework for one in found]) if len(found) <= MOST_NAMES else f"{len(found)} setups"


def _verb(found: Sequence[Conclusion], many: str, one: str) -> str:
    return one if len(found) == 1 else many


def _span(found: Sequence[Conclusion]) -> str:
    """Return the lowest and the highest share of some setups."""
    shares = sorted(one.share or 0.0 for one in found)
    low, high = percent(shares[0]), percent(shares[-1])
    return low if low == high else f"{low} to {high}"


def _enough(undecided: Sequence[Conclusion]) -> str:
    """Return how many tasks would settle the difference of the best of some undecided setups, as a clause."""
    first = undecided[0]
    enough = first.finding.enough if first.finding else None
    tasks = "more tasks would hardly" if enough is None else f"about {number_of(enough.queries, 'task')} would"
    return f"; {tasks} settle {'it' if len(undecided) == 1 else f'that of {first.framework}'}"


def decision(report: Report) -> list[tuple[str, str]]:
    """Return the advice of a run as titled lines on the setup to take, the open question, and the cost to settle it.

    Setups are weighed with others of the same model only. None without a comparison.
    """
    model_of, found = {cell.label: cell.model for cell in report.run.config.cells}, _best_first(report)
    models = sorted({model_of.get(one.framework, "") for one in found})
    rows = []
    for model in models:
        own = [one for one in found if model_of.get(one.framework, "") == model]
        rows += [(f"{title} with {model}" * (len(models) > 1) or title, told) for title, told in _advice(report, own)]
    return rows


def _advice(report: Report, found: Sequence[Conclusion]) -> list[tuple[str, str]]:
    summaries = {one.framework: one for one in report.frameworks}
    findings = [one.finding for one in found if one.finding]
    if len(found) < 2 or not findings:
        return []
    beaten = {one.candidate if one.verdict == "worse" else one.baseline for one in findings if one.is_difference}
    if len(found) == len(report.frameworks):
        ranks = {one.framework: (summaries[one.framework].ranks or {}).get(one.score, (1, 1)) for one in found}
        beaten |= {name for name, (best, _) in ranks.items() if best > 1}
    behind = [one for one in found if one.framework in beaten]
    left = [one for one in found if one.framework not in beaten]
    leave = [("leave", f"{_names(behind)} ({_span(behind)}): shown to be worse than another setup")] if behind else []
    if len(left) == 1:
        told = f"{_names(left)} ({_span(left)}), the only setup that no other is shown to beat"
        return [("take", told), *leave, ("not decided", "nothing")]
    tokens = {one.framework: summaries[one.framework].middle(TOKENS) for one in left}
    least = min(tokens, key=lambda name: tokens[name])
    hint = f"; {least} uses the fewest tokens (median {tokens[least]:,.0f} a trial)" if tokens[least] else ""
    rows = [("take", f"no difference between {_names(left)} is shown{hint}"), *leave]
    rows.append(("not decided", f"which of {_names(left)} is best ({_span(left)} of {left[0].over})"))
    needed = [one.finding.enough for one in left if one.finding and one.finding.verdict == "too few"]
    if not needed or None in needed:
        return [*rows, ("to decide it", "more of the same tasks would hardly tell them apart")]
    count = max(one.queries for one in needed if one)
    more = count * report.run.config.repeat - max(summaries[one.framework].counts.planned for one in left)
    spent, costs = ([summaries[one.framework].mean(name) for one in left] for name in (TOKENS, COST))
    price = f", ${more * sum(costs):,.2f}" if all(costs) else ""
    told = f"about {number_of(count, 'task')}: {number_of(more, 'more trial')} of each setup, "
    told += f"{more * sum(spent):,.0f} tokens{price}; bench plan {report.run.run_id} says how sure that is"
    return [*rows, ("to decide it", told)]


def _sources(report: Report) -> str:
    """Return a sentence on the setups with calls of the agent's own tools, or an empty text."""
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
    """Return the verdict on a setup by a score; the others' reference gets ``baseline``."""
    if found := summary_finding(summary, score):
        from trialbed.report.comparison import finding_cells

        return finding_cells(found)[1]
    findings = (summary_finding(other, score) for other in summaries)
    return BASELINE if summary.framework in {one.baseline for one in findings if one} else ""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """Return the tasks that went wrong, by the mean of the run's leading score; the lowest first.

    Tasks with the same mean are in the dataset's order, and tasks without a mean come last.
    """
    import numpy as np

    table, found = report.table, list[WorstQuery]()
    # The mean of the scores that say how a trial went; one without a value is 0.
    quality = np.mean([np.nan_to_num(table.values(name, zeros=True)) for name in JUDGING], axis=0)
    faults = table["api_errors"] + table["invalid_calls"] + table["request_errors"]
    flawed = ~table.answered | (quality < 1) | (faults > 0)
    leading = next((name for name in (*leading_scores(report.run.scores), *JUDGING) if name in table.kinds), JUDGED)
    means = table.means(table.values(leading, zeros=True)).round(DIGITS)
    flaws = np.bincount(table["query"], flawed, len(table.queries))
    for query in [query for query in np.argsort(means, kind="stable").tolist() if flaws[query]][:most]:
        rows = [table.row(place) for place in np.flatnonzero(table["query"] == query).tolist()]
        worst = min(
            (row for row in rows if flawed[row.place]),
            key=lambda row: (row.status == "not measured", quality[row.place], -faults[row.place]),
        )
        mean = None if np.isnan(means[query]) else float(means[query])
        found.append(WorstQuery(worst.query_id, report.queries[worst.query_id].text, leading, mean, rows, worst))
    return found


def instructive_trials(report: Report, most: int = EXAMPLES) -> list[TrialRow]:
    """Return the trials that show best what goes wrong, first trials with an expected call lost by the framework.

    Each is the first of its setup with the most frequent loss; then come trials of the worst queries.
    """
    rows = list[TrialRow]()
    for summary in sorted(report.frameworks, key=lambda one: -one.attribution.losers.get("framework", 0)):
        counts, first = summary.attribution.counts, summary.attribution.first
        if first and not summary.integrity.void:
            stage = max(first, key=lambda lost: counts[lost])
            own = (row for row in summary.trials if row.query_id == first[stage][0])
            rows += [row for row in own if any(call.lost == stage for call in row.gold_calls)][:1]
    rows += [one.worst for one in worst_queries(report, most)]
    return list({trial_name(row.key.framework, row.query_id, row.repeat): row for row in rows}.values())[:most]


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
    """Return the reasons why trials failed or were not measured, and why scores could not be determined.

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
    groups = group_by_key((replace(found, score=""), score_title(found.score)) for found in untold)
    for found, scores in groups.items():
        told.append((f"{', '.join(scores)} could not be determined for {number_of(found.count, 'trial')}", found))
    for said, found in told:
        part = "the first" if found.alike == 1 else str(found.alike)
        some = "" if found.alike == found.count else f"; {part} of them"
        name = trial_name(summary.framework, found.query_id, found.repeat)
        command = shlex.join(["bench", "show", summary.run.run_id, name])
        reason = f"{found.message.rstrip('.')} [task {found.query_id}: {command}]"
        yield f"{said} ({found.kind}){some}: {reason}"
