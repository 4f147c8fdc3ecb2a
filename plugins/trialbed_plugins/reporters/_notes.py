"""The scores of a run, the notes below its table, and the legend that explains its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.records import Run, ScoreDescription, TokenRate, leading_scores, score_title, shown_name
from trialbed.report import (
    Integrity,
    Report,
    ScoreMean,
    Summary,
    fault_note,
    how_to_complete,
    reason_lines,
)
from trialbed.scoring import JUDGED, judge_note
from trialbed.statistics import LEVEL
from trialbed.texts import first_of, group_by_key, number_of, number_were, percent
from trialbed.views import compact, counts, estimate, helper_line, lost_line
from trialbed_plugins.recordings import IGNORING

SKEWED = ("ns", "us", "µs", "ms", "s", "min", "h", "tokens", "USD")
"""Units of skewed figures. Their median says more than their mean."""


def score_names(summaries: Sequence[Summary], described: Mapping[str, ScoreDescription]) -> list[str]:
    """Return every score of any framework, the dataset's own first, then bounded ones as far as this is known."""
    given = [name for summary in summaries for name in summary.shown]
    names = dict.fromkeys([*(name for name in leading_scores(described) if name in given), *given])
    known = [score for summary in summaries for score in summary.shown.items()]
    with_median = {name for name, score in known if score.median is not None}
    return sorted(names, key=lambda name: name in with_median)


def telling_names(report: Report) -> list[str]:
    """Return all scores except explanatory ones without a value other than their ideal."""
    ideal = {name: score.ideal for name, score in report.described.items() if score.ideal is not None}
    values = {(name, score.value) for summary in report.frameworks for name, score in summary.shown.items()}
    told = {name for name, value in values if name not in ideal or value not in (None, ideal[name])}
    return [name for name in score_names(report.frameworks, report.described) if name in told]


PLAIN = ("prompt_tokens", "completion_tokens", "total_tokens", "wall_time", "model_time")
"""Scores with names that need no explanation."""

UNEVEN = 0.1
"""Least difference between shares of cached calls that makes tool times incomparable."""

USUAL_REASONS = frozenset({"stop", "tool_calls"})
"""Usual reasons for the end of a model's answer."""


def run_notes(report: Report) -> Iterator[str]:
    """Yield the notes for a run's figures."""
    shown, summaries = telling_names(report), report.frameworks
    yield from _on_faults(report.run)
    yield from _on_missing(summaries, shown)
    if shown:
        yield f"[low, high]: {percent(LEVEL)} interval. Times and tokens: mean / median, or the median."
    if "cost" in shown:
        yield from _prices(summaries[0].run)
    if helpers := summaries[0].run.helpers:
        yield f"Beside the trials: {'; '.join(map(helper_line, helpers))}."
    run = summaries[0].run
    if JUDGED in shown and (note := judge_note(run.config.judge, run.judge or None)):
        yield note
    yield from _on_cached(summaries)
    for summary in summaries:
        for note in _own(summary):
            yield f"{summary.framework}: {note}"


def _prices(run: Run) -> Iterator[str]:
    for model, prices in run.prices.items():
        of = f" of {model}" if len(run.config.models) > 1 else ""
        rates = "; ".join(map(_rate_text, prices.rates))
        yield f"Prices{of}: {prices.source}, {rates} US dollars per million tokens."


def _rate_text(rate: TokenRate) -> str:
    cached = "" if rate.cached is None else f", cached {rate.cached:g}"
    above = f" above {rate.above:,} tokens" if rate.above else ""
    return f"{rate.input:g} in, {rate.output:g} out{cached}{above}"


def brief_notes(report: Report) -> Iterator[str]:
    """Yield notes on missing trials, missing scores and void rows, which could otherwise mislead."""
    yield from _on_faults(report.run)
    yield from _on_missing(report.frameworks, telling_names(report))
    for summary in report.frameworks:
        void = [f"VOID: {summary.integrity.void}; no score is shown, and nothing is compared with it"]
        # Failed trials have a column, and the most frequent failure is below the table.
        missing = replace(summary, failures=tuple(one for one in summary.failures if one.status != "failed"))
        notes = [*reason_lines(missing), *(void if summary.integrity.void else ()), *_on_integrity(summary.integrity)]
        notes += _flaky(summary)
        yield from (f"{summary.framework}: {note}" for note in notes)


MOST_FLAKY = 10
"""Most tasks in a note."""


def _flaky(summary: Summary) -> Iterator[str]:
    """Yield the tasks that are only solved in some of their repeats."""
    verdicts = group_by_key((row.query_id, row.verdict) for row in summary.trials if row.status != "not measured")
    solved = {query: (found.count("Solved"), len(found)) for query, found in verdicts.items()}
    flaky = [f"{query} ({won} of {count})" for query, (won, count) in solved.items() if 0 < won < count]
    if flaky:
        yield f"solved in some repeats only: {first_of(flaky, MOST_FLAKY)}"


def _on_faults(run: Run) -> Iterator[str]:
    if note := fault_note(run.config.faults):
        yield f"{note}."


def run_legend(report: Report) -> Iterator[str]:
    """Yield explanations of the figures."""
    shown = telling_names(report)
    if shown:
        yield (
            "Scores of quality are means over every trial that was measured, with 0 for each that failed; other "
            "figures are means over the trials without failure. n= gives the number if it differs. "
            f"[low, high] is the {percent(LEVEL)} Wilson interval, clustered by task. Times and tokens are mean / "
            "median, or the median if there is one figure."
        )
        yield (
            "calls right: the share of the expected calls that were made with the right arguments, in trials that did "
            "not fail."
        )
    meanings = {name: score.meaning for name, score in report.described.items() if name not in PLAIN}
    yield from (f"{_entry(name)}: {meaning}." for name, meaning in meanings.items() if meaning and name in shown)


def _entry(score: str) -> str:
    """The title of a score, with the name that options know it by."""
    title, name = score_title(score), shown_name(score)
    return title if title == name else f"{title} ({name})"


def _on_missing(summaries: Sequence[Summary], shown: Sequence[str]) -> Iterator[str]:
    if lost := lost_line(summaries[0].run.lost):
        yield f"{lost}."
    if not any(summary.incomplete for summary in summaries):
        return
    yield f"INCOMPLETE: {_missing(summaries)}; {how_to_complete(summaries)}."
    common = summaries[0].common_trials
    if len(summaries) > 1 and shown and common:
        some = "one task that was" if common == 1 else f"{common} tasks and repeats that were"
        scores = f"The scores are over the {some} measured for every framework"
        compare = f"bench compare {summaries[0].run.run_id} --allow-incomplete"
        is_compared = any(summary.comparisons for summary in summaries)
        yield f"{scores}." if is_compared else f"{scores}; {compare} has verdicts over them."
    elif len(summaries) > 1 and summaries[0].common is not None:
        yield "No scores are shown, as no task was measured for every framework yet."
    elif len(summaries) > 1:
        yield (
            "No scores are shown, as those of different frameworks would be over different tasks; "
            "--allow-incomplete (allow_incomplete=True in Python) shows them over the tasks that were measured for "
            "every framework."
        )


def _missing(summaries: Sequence[Summary]) -> str:
    """Describe the missing trials or else verdicts of an incomplete run in a clause."""
    trials = sum(summary.counts.not_measured for summary in summaries)
    if trials:
        return f"{number_were(trials, 'trial')} not measured"
    verdicts = sum(found.count for summary in summaries for found in summary.untold if found.kind == "judge")
    return "1 verdict is missing" if verdicts == 1 else f"{verdicts:,} verdicts are missing"


def _on_cached(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield the shares of cached answers if frameworks differ in them."""
    shares = {
        summary.framework: cached["cached"] / cached["calls"]
        for summary in summaries
        if (cached := summary.wire["cached_calls"])["calls"]
    }
    if shares and max(shares.values()) - min(shares.values()) > UNEVEN:
        parts = ", ".join(f"{percent(share)} for {name}" for name, share in shares.items())
        yield (
            "Times favour frameworks that ask later: a call that another trial made is answered from "
            f"the cache, without a wait ({parts}). The framework's time excludes the tools."
        )


def _own(summary: Summary) -> Iterator[str]:
    deviations = [deviation.text for deviation in summary.info.deviations] if summary.info else []
    if deviations:
        yield f"declared deviations: {'; '.join(deviations)}"
    yield from reason_lines(summary)
    if summary.integrity.void:
        yield f"VOID: {summary.integrity.void}; no score is shown, and nothing is compared with it"
    else:
        yield from _on_answered(summary)
        yield from _on_repeats(summary.success)
    yield from _on_recorded(summary)
    yield from _on_claims(summary.claims)
    yield from _on_integrity(summary.integrity)
    yield from _on_wire(summary)
    yield from _on_first_trials(summary)
    yield from _on_repeated(summary.repeated)


def _on_answered(summary: Summary) -> Iterator[str]:
    """Yield scores of quality over the trials without a failure, if others failed."""
    means = ((name, summary.over_answered.get(name)) for name, score in summary.scores.items() if score.quality)
    known = [
        f"{score_title(name)} {compact(mean.value)}"
        for name, mean in means
        if mean is not None and mean.value is not None
    ]
    if summary.counts.failed and known:
        yield f"over the {number_of(summary.counts.answered, 'trial')} without failure alone: {', '.join(known)}"


def _on_repeats(success: Mapping[str, Mapping[int, ScoreMean]]) -> Iterator[str]:
    """Yield pass@k and pass^k if trials are repeated."""
    for meaning, name in (("any", "pass@"), ("each", "pass^")):
        if success[meaning]:
            figures = ", ".join(f"{name}{k} {mean_text(mean)}" for k, mean in success[meaning].items())
            yield f"solved in {meaning} of k trials of a task: {figures}"


def _on_recorded(summary: Summary) -> Iterator[str]:
    """Yield the share of recorded answers, and the parts of requests that the recording ignores."""
    tokens = summary.tokens
    ignored = summary.run.config.cell(summary.framework).model_identity.partition(IGNORING)[2]
    if tokens.recorded_requests:
        yield (
            f"recorded answers: {_share(tokens.recorded_requests, tokens.requests, 'request')}, "
            f"{_share(tokens.recorded, tokens.total, 'token')}; the model's own times are not known for their trials"
            f"{f'; the recording ignores in requests: {ignored}' if ignored else ''}"
        )


def _share(part: int, whole: int, name: str) -> str:
    share = f" ({percent(part / whole)})" if whole else ""
    return f"{part:,} of {number_of(whole, name)}{share}"


def _on_claims(claims: Mapping[str, Any]) -> Iterator[str]:
    if claims["invented"] or claims["unreported"]:
        yield (
            f"claims differ from the wire: {number_of(claims['invented'], 'call')} claimed and never made, "
            f"{claims['unreported']} made and never claimed"
        )
    for what in ("tokens", "turns"):
        found = claims[what]
        if found["differ"]:
            yield (
                f"claims {found['claimed']:,} {what} where {found['observed']:,} were observed; "
                f"they differ in {found['differ']} of {number_of(found['trials'], 'trial')}"
            )
    if claims["unasked"]:
        calls = number_of(claims["unasked"], "call")
        yield f"{calls} of tools that no answer of the model asked for; they score nothing"


def _on_integrity(integrity: Integrity) -> Iterator[str]:
    lines = list(integrity.lines())
    if lines:
        yield f"integrity: {'; '.join(lines)}"


ON_THE_WIRE = {
    ("refused_requests", "requests", "request"): "{trials} stopped by the limit: {events} past {limits} refused",
    ("lost_calls", "calls", "call"): (
        "{events} in {trials} could not be made with what the framework offered: {reasons}"
    ),
    ("filled_arguments", "arguments", "optional argument"): (
        "{events} in {trials} had to be made up, as the framework offered them as required"
    ),
    ("truncated", "answers", "answer"): "{events} of the model cut by {bound}, in {trials}",
    ("waited", "seconds", "second"): (
        "requests to the model waited to be sent, or to be sent again, for {count:,} s in {trials}, which is in "
        "wall_time only"
    ),
    ("translated_requests", "requests", "request"): (
        "{events} in {trials} put to the model in another dialect, as its endpoint does not speak the framework's; "
        "calls in such answers come as a whole"
    ),
    ("text_calls", "calls", "call"): (
        "the model wrote {events} as text instead of sending them, in {trials}; they count only if the request "
        "offered no tools"
    ),
}
"""Maps events on the wire, with the key of their number and their noun, to notes."""


def _on_wire(summary: Summary) -> Iterator[str]:
    wire, max_tokens = summary.wire, summary.run.config.max_tokens
    bound = "the model's own limit of tokens" if max_tokens is None else f"max_tokens ({max_tokens})"
    # The reasons of these failures already name the limit.
    told = {"refused_requests": sum(found.count for found in summary.failures if found.kind == "limit")}
    for (name, unit, noun), text in ON_THE_WIRE.items():
        found = wire[name]
        if found[unit] and found["trials"] > told.get(name, 0):
            yield text.format(
                count=found[unit],
                events=number_of(found[unit], noun),
                trials=number_of(found["trials"], "trial"),
                limits=" or ".join(f"--{limit.replace('_', '-')}" for limit in found.get("limits", ())),
                reasons=counts(found.get("reasons", {})),
                bound=bound,
            )
    if not wire["finish_reasons"].keys() <= USUAL_REASONS:
        yield f"finish_reason of the model's answers: {counts(wire['finish_reasons'])}"


def _on_first_trials(summary: Summary) -> Iterator[str]:
    times, timed = summary.times, summary.shown.get("wall_time")
    wall, count = times.first.get("wall_time"), times.first_trials
    if count and timed and timed.denominator and not times.first_apart:
        yield (
            f"times include the start-up of its workers: {count} of {number_of(timed.denominator, 'trial')} "
            f"{'was' if count == 1 else 'were'} the first of a worker"
        )
    if times.first_apart and wall is not None:
        yield f"times leave out the first trial of each worker ({count}), which took {compact(wall)} s on average"


def _on_repeated(repeated: Mapping[str, int]) -> Iterator[str]:
    if repeated["trials"]:
        trials, replaced = number_of(repeated["trials"], "failed trial"), repeated["replaced"]
        later = f", but in {replaced:,} a later one, as the adapter or its environment changed" if replaced else ""
        yield f"{trials} repeated: the first attempt counts{later}"


def mean_text(mean: ScoreMean) -> str:
    """Format a mean with its interval, with two digits."""
    low, high = mean.interval or (None, None)
    return estimate({"value": mean.value, "low": low, "high": high}, 2)
