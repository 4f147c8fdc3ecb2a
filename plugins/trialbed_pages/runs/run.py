"""One run: who did how well, at what cost, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile

from markupsafe import Markup

from trialbed.records import RunConfig
from trialbed.report import Integrity, ScoreMean, fault_note, verdict
from trialbed.report.comparison import (
    Ranks,
    ScoreFinding,
    chosen_baseline,
    rank_notes,
    verdict_notes,
)
from trialbed.scoring import JUDGED, TIMES, score_words
from trialbed.store import StoredRun, TrialRow
from trialbed.views import BarPlot, ScatterPlot, html_parts
from trialbed.wire.redaction import shown_url
from trialbed_pages.runs.figures import COST, TOKENS, QueryId, RunFigures
from trialbed_pages.runs.plots import TIME_PARTS, cost_plot, time_gaps, time_plot
from trialbed_plugins.recordings import IGNORING
from trialbed_plugins.reporters import tag_tables

WORST = 5
"""Queries that are named as the worst."""


@dataclass(frozen=True)
class FrameworkRow:
    """A row of the leaderboard.

    Attributes:
        chosen: the mean of the score by which frameworks are compared.
        calls_right: the share of the expected calls that were made with the right arguments.
        verdict: on that score, against the baseline, which has this word itself; empty where there is none.
        tokens, cost, times: medians; the cost in US dollars.
        failures: kinds of failures with their counts, the most frequent first.
        integrity: the findings on the wire that bear on whether it can be compared.
    """

    name: str
    version: str
    answered: int
    failed: int
    planned: int
    chosen: ScoreMean
    calls_right: float | None
    verdict: str
    tokens: float | None
    cost: float | None
    times: Mapping[str, float | None]
    failures: Sequence[tuple[str, int]]
    integrity: Integrity

    @property
    def not_measured(self) -> int:
        """The trials without an end that counts."""
        return self.planned - self.answered - self.failed


@dataclass(frozen=True)
class WorstQueryRow:
    """A query with a low mean of the score over all frameworks, and its worst trial, or one of those that are alike."""

    query: QueryId
    text: str
    value: float
    trial: TrialRow
    are_alike: bool


@dataclass(frozen=True)
class RunPage:
    """The page of a run.

    Attributes:
        score: the bounded score by which frameworks are compared.
    """

    figures: RunFigures
    score: str

    @property
    def run(self) -> StoredRun:
        """The run."""
        return self.figures.run

    @property
    def scores(self) -> list[str]:
        """The scores that can be chosen."""
        return self.figures.quality or [self.score]

    @property
    def fault_note(self) -> str:
        """The faults that were put in on purpose; empty where there are none."""
        return fault_note(self.run.config.faults)

    @cached_property
    def rows(self) -> list[FrameworkRow]:
        """The frameworks, the best first; those of one mean stay in the run's order."""
        rows = [_row(self.figures, name, self.score) for name in self.run.config.frameworks]
        return sorted(rows, key=lambda row: 1.0 if row.chosen.value is None else -row.chosen.value)

    @cached_property
    def plots(self) -> dict[str, ScatterPlot | BarPlot]:
        """The cost of the score and the times, by the beginning of the ids in their drawings.

        Where all frameworks cost the same and have the same score, the table says as much as a plot.
        """
        names = [row.name for row in self.rows]
        times = time_plot(self.figures, names)
        cost = cost_plot(self.figures, self.score, names)
        found: dict[str, ScatterPlot | BarPlot] = {} if cost.has_one_place else {"cost": cost}
        if any(bar.parts for bar in times.bars):
            found["times"] = times
        return found

    @cached_property
    def tag_figures(self) -> Markup:
        """The table of the score by the tags of tasks."""
        return html_parts("", tag_tables(self.figures.report, self.score))

    @property
    def time_notes(self) -> list[str]:
        """The parts of the time that are not known, a sentence for the frameworks that lack the same ones."""
        if "times" not in self.plots:
            return ["Where the time of a trial goes is not known."]
        lacking: dict[str, list[str]] = {}
        for name, parts in time_gaps(self.figures, [row.name for row in self.rows]).items():
            what = "where its time goes" if len(parts) == len(TIME_PARTS) else f"the time of the {' and '.join(parts)}"
            lacking.setdefault(what, []).append(name)
        return [f"{', '.join(names)}: {what} is not known" for what, names in lacking.items()]

    @property
    def recording_notes(self) -> list[str]:
        """The part of the model's answers that were recorded ones: of all together, else of each framework with any."""
        every = list(self.figures.recordings.values())
        identities = (cell.model_identity.partition(IGNORING)[2] for cell in self.run.config.cells)
        ignored = [f"The recording ignores in requests: {one}" for one in dict.fromkeys(filter(None, identities))]
        if len(every) == len(self.rows) > 1 and all(one.recorded_requests == one.requests for one in every):
            requests, tokens = sum(one.requests for one in every), sum(one.recorded for one in every)
            return [
                f"All {requests:,} requests got recorded answers, with {tokens:,} tokens in all; the model's own times "
                "are not known",
                *ignored,
            ]
        return ignored + [
            f"{name}: {found.recorded_requests:,} of {found.requests:,} requests got a recorded answer, with "
            f"{found.recorded:,} tokens in all; the model's own times are not known for their trials"
            for name, found in self.figures.recordings.items()
        ]

    @property
    def translation_notes(self) -> list[str]:
        """The requests that were put to the endpoint in another dialect, a sentence for each framework with any."""
        return [
            f"{name}: {asked:,} of {requests:,} requests were put to the model in another dialect, as its endpoint "
            f"does not speak the framework's"
            for name, (asked, requests) in self.figures.translations.items()
        ]

    @cached_property
    def worst(self) -> list[WorstQueryRow]:
        """The queries with the lowest means, the lowest first; none that all frameworks have right.

        By the judge's score, those that ``bench show`` names come first, in its order.
        """
        found: list[WorstQueryRow] = []
        named = self.figures.worst_first if self.score == JUDGED else {}
        places = {query_id: place for place, query_id in enumerate(named)}
        every = takewhile(lambda item: item[0] < 1, self.figures.worst(self.score))
        queries = sorted(every, key=lambda item: (places.get(item[1], len(places)), item[0]))
        for value, query_id in islice(queries, WORST):
            trials = [trial for name in self.run.config.frameworks for trial in self.figures.cell(name, query_id)]
            worst = named.get(query_id) or min(trials, key=self._worth)
            are_alike = len({*map(self._worth, trials)}) == 1
            found.append(WorstQueryRow(query_id, self.figures.text(query_id), value, worst, are_alike))
        return found

    @property
    def has_values(self) -> bool:
        """Return whether any trial has a value of the score."""
        return any(True for _ in self.figures.worst(self.score))

    @property
    def answered_trials(self) -> int:
        """The trials without failure."""
        return sum(row.answered for row in self.rows)

    @property
    def ended_trials(self) -> int:
        """The trials that have ended."""
        return len(self.figures.trials)

    @property
    def total_trials(self) -> int:
        """The trials of the whole run."""
        return self.figures.trials_per_framework * len(self.rows)

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The run's main settings, by name."""
        config = self.run.config
        settings = {
            "dataset": f"{_dataset(config)}, sha256 {config.dataset_digest[:12]}",
            "queries": f"{len(config.query_ids):,}{f', {config.repeat} times each' if config.repeat > 1 else ''}",
            "model": ", ".join(config.models),
            "endpoint": shown_url(config.base_url) if config.base_url else "",
            "judge": config.judge,
            "selector": config.selector,
            "seed": str(config.seed),
            "temperature": "" if (temperature := config.cells[0].temperature) is None else f"{temperature:g}",
            "max steps": str(config.max_steps),
            "timeout": f"{config.timeout:g} s",
            "Trialbed": config.trialbed_version,
        }
        return [(name, text) for name, text in settings.items() if text]

    def _worth(self, trial: TrialRow) -> float:
        """Return the score of a trial; above all scores where it is not known."""
        value = self.figures.value(trial, self.score)
        return 2.0 if value is None else value


@dataclass(frozen=True)
class Differences:
    """The paired differences to the baseline, and the ranks that are left open."""

    run: StoredRun
    baseline: str
    findings: Sequence[ScoreFinding]
    ranks: Ranks

    @property
    def rows(self) -> list[tuple[list[str], ScoreFinding]]:
        """The findings in the order of their scores; scores of which the same is shown share one."""
        scores = list(dict.fromkeys(finding.score for finding in self.findings))
        alike: dict[object, tuple[list[str], ScoreFinding]] = {}
        for one in sorted(self.findings, key=lambda finding: scores.index(finding.score)):
            shown = (one.baseline, one.candidate, one.difference, one.interval, one.p_adjusted, one.verdict, one.enough)
            alike.setdefault((shown, len(one.changed_queries), one.n), ([], one))[0].append(one.score)
        return list(alike.values())

    @property
    def notes(self) -> list[str]:
        """Sentences on p-values, verdicts and ranks."""
        return [*verdict_notes(self.findings), *rank_notes(self.ranks, score_words)]


def _dataset(config: RunConfig) -> str:
    named = config.named_dataset
    return named if named == config.test_set else f"{named} ({config.test_set})"


def run_page(figures: RunFigures, score: str) -> RunPage:
    """Return the page of a run, which is kept with its figures."""
    return figures.once(("run", score), lambda: RunPage(figures, score or figures.headline[0]))


def differences(figures: RunFigures) -> Differences:
    """Compare the frameworks of a run: paired differences, unless it is running, and ranks, once it is finished."""
    return figures.once("differences", lambda: _differences(figures))


def _differences(figures: RunFigures) -> Differences:
    run, summaries = figures.run, figures.report.frameworks
    baseline = chosen_baseline(run.config.frameworks, run.record.against)
    compared = [one for summary in summaries for one in summary.comparisons] if run.status != "running" else []
    # A framework may be compared with another for two reasons, by the same findings.
    findings = {id(finding): finding for one in compared for finding in one.scores.values()}
    ranks: dict[str, dict[str, tuple[int, int]]] = {}
    for summary in summaries if run.status == "finished" else ():
        for score, rank in (summary.ranks or {}).items():
            ranks.setdefault(score, {})[summary.framework] = rank
    return Differences(run, baseline, list(findings.values()), ranks)


def _row(figures: RunFigures, name: str, score: str) -> FrameworkRow:
    own = figures.report[name]
    lost = own.attribution
    return FrameworkRow(
        name=name,
        version=own.info.version or "" if own.info else "",
        answered=own.counts.answered,
        failed=own.counts.failed,
        planned=figures.trials_per_framework,
        chosen=figures.mean(name, score),
        calls_right=lost.right / lost.gold_calls if lost.gold_calls and not own.integrity.void else None,
        verdict=verdict(figures.report.frameworks, own, score),
        tokens=figures.median(name, TOKENS),
        cost=figures.median(name, COST),
        times={time: figures.median(name, time) for time in TIMES},
        failures=sorted(own.counts.failures.items(), key=lambda item: -item[1]),
        integrity=own.integrity,
    )
