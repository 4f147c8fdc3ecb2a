"""The notes below a run's table: what must be known beside it; and its legend, which says how to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.report import reason_lines
from trialbed.scoring import JUDGED, judge_note
from trialbed.views import compact, counts, estimate
from trialbed_plugins.scorers import CATALOG

Document = Mapping[str, Any]

AVERAGE = "average_"
SHOWN_AS_PARTS = ("average_gold_answer_time", "average_system_answer_time", "average_evaluation_time")
"""Averages that repeat a score, or have no value."""

PLAIN = ("prompt_tokens", "completion_tokens", "total_tokens", "wall_time", "model_time", "tool_time")
"""Scores whose names say what they are."""

LEGEND = {info.name: info.meaning for info in CATALOG if info.name not in PLAIN}
"""The meaning of scores whose names do not say it."""

IDEAL = {info.name: info.ideal for info in CATALOG if info.ideal is not None}
"""Scores that explain others, and the value at which they have nothing to say."""

UNEVEN = 0.1
"""Difference of the shares of calls answered from the cache from which times of tools are not alike."""

USUAL_REASONS = frozenset({"stop", "tool_calls"})
"""Reasons for which an answer of a model usually ends."""


def comparable(documents: Sequence[Document]) -> list[Document]:
    """The documents with figures that can stand side by side.

    Where trials of one of several frameworks are missing, their figures are over different queries: then those over
    common trials take their place, if the run was allowed to be incomplete, and otherwise nothing does.
    """
    if len(documents) == 1 or all(document["metadata"]["status"] != "incomplete" for document in documents):
        return list(documents)
    return [{**document, "summary": _over_common(document["summary"])} for document in documents]


def score_names(summaries: Sequence[Document]) -> list[str]:
    """Every score of any framework; bounded ones first, as far as that is known."""
    keys = [key for summary in summaries for key in summary if key.startswith(AVERAGE) and key not in SHOWN_AS_PARTS]
    names = list(dict.fromkeys(key.removeprefix(AVERAGE) for key in keys))
    return sorted(names, key=lambda name: any(name in summary["medians"] for summary in summaries))


def telling_names(summaries: Sequence[Document]) -> list[str]:
    """Every score but those that explain others and have nothing to say of any framework."""
    return [name for name in score_names(summaries) if name not in IDEAL or _tells(name, summaries)]


def _tells(name: str, summaries: Sequence[Document]) -> bool:
    return any(summary.get(f"{AVERAGE}{name}") not in (None, IDEAL[name]) for summary in summaries)


def run_notes(documents: Sequence[Document]) -> Iterator[str]:
    """What must be known beside the figures.

    Args:
        documents: as ``comparable`` gives them.
    """
    shown = telling_names([document["summary"] for document in documents])
    yield from _on_incomplete(documents, shown)
    if shown:
        level = documents[0]["summary"]["interval_level"]
        yield f"[low, high]: {level:.0%} interval. Times and tokens: mean / median, or the median."
    if JUDGED in shown:
        yield from _on_judge(documents[0]["metadata"])
    yield from _on_cached(documents)
    for document in documents:
        for note in _own(document):
            yield f"{document['metadata']['agent_name']}: {note}"


def run_legend(documents: Sequence[Document]) -> Iterator[str]:
    """How the figures are to be read.

    Args:
        documents: as ``comparable`` gives them.
    """
    shown = telling_names([document["summary"] for document in documents])
    if shown:
        yield from _on_means(documents[0]["summary"])
    yield from (f"{name}: {meaning}." for name, meaning in LEGEND.items() if name in shown)


def _over_common(summary: Document) -> dict[str, Any]:
    kept = {key: value for key, value in summary.items() if not key.startswith(AVERAGE)}
    for status in ("solved", "unsure", "unsolved"):
        kept.pop(f"{status}_count", None)
    block = summary["common"] or {"averages": {}, "denominators": {}, "intervals": {}}
    averages = {f"{AVERAGE}{name}": value for name, value in block["averages"].items()}
    figures = {key: block[key] for key in ("denominators", "intervals")}
    return {**kept, **averages, **figures, "medians": {}, "quartiles": {}}


def _on_incomplete(documents: Sequence[Document], shown: Sequence[str]) -> Iterator[str]:
    if all(document["metadata"]["status"] != "incomplete" for document in documents):
        return
    missing = sum(document["summary"]["not_measured_count"] for document in documents)
    trials = "1 trial was" if missing == 1 else f"{missing} trials were"
    yield f"INCOMPLETE: {trials} not measured; the same command runs what is missing."
    if len(documents) > 1 and shown:
        common = documents[0]["summary"]["common"]["trials"]
        yield f"The scores are over the {common} queries and repeats that were measured for every framework."
    elif len(documents) > 1 and any(document["summary"]["common"] for document in documents):
        yield "No scores are shown, as no query was measured for every framework yet."
    elif len(documents) > 1:
        yield (
            "No scores are shown, as those of different frameworks would be over different queries; "
            "--allow-incomplete shows them over the queries that were measured for every framework."
        )


def _on_means(summary: Document) -> Iterator[str]:
    yield (
        "Scores of quality are means over every trial that was measured, with 0 for each that failed; other figures "
        "are means over the trials that ended with an answer. n= gives the number where it is another. "
        f"[low, high] is the {summary['interval_level']:.0%} Wilson interval, clustered by query. Times and tokens are "
        "mean / median, or the median where there is one figure."
    )


def _on_cached(documents: Sequence[Document]) -> Iterator[str]:
    """Who waited for answers to be made, where frameworks differ in it; documents of earlier versions do not know."""
    found = [(document["metadata"]["agent_name"], document["summary"].get("cached_calls")) for document in documents]
    shares = {name: counted["cached"] / counted["calls"] for name, counted in found if counted and counted["calls"]}
    if shares and max(shares.values()) - min(shares.values()) > UNEVEN:
        parts = ", ".join(f"{share:.0%} for {name}" for name, share in shares.items())
        yield (
            "tool_time and wall_time depend on who asked first: later equal calls are answered from the cache, without "
            f"waiting for the answer to be made ({parts}). framework_time leaves the tools out."
        )


def _on_judge(about: Document) -> Iterator[str]:
    """How far the judge can be trusted; nothing in documents of versions before that was recorded."""
    note = judge_note(about["evaluator_model"], about.get("judge"))
    if note:
        yield note


def _own(document: Document) -> Iterator[str]:
    about, summary = document["metadata"], document["summary"]
    if about["deviations"]:
        yield f"declared deviations: {'; '.join(about['deviations'])}"
    yield from reason_lines(document)
    yield from _on_answered(summary)
    yield from _on_repeats(summary)
    yield from _on_claims(summary["claims"])
    yield from _on_wire(summary, about["max_tokens"])
    yield from _on_first_trials(summary["first_trials"], summary["denominators"].get("wall_time"))
    yield from _on_repeated(summary["repeated"])


def _on_answered(summary: Document) -> Iterator[str]:
    """Scores of quality over answered trials alone, where others failed."""
    found = summary["over_answered"]
    means = {name: found["averages"].get(name) for name in summary["quality_scores"]}
    known = [f"{name} {compact(value)}" for name, value in means.items() if value is not None]
    if summary["failed_count"] and known:
        yield f"over the {found['trials']} answered trials alone: {', '.join(known)}"


def _on_repeats(summary: Document) -> Iterator[str]:
    """pass@k and pass^k, where trials are repeated."""
    for key, name, meaning in (("pass_at_k", "pass@", "any"), ("pass_hat_k", "pass^", "each")):
        found = summary.get(key) or {}
        if found:
            figures = ", ".join(f"{name}{k} {estimate(figure, 2)}" for k, figure in found.items())
            yield f"solved in {meaning} of k trials of a query: {figures}"


def _on_claims(claims: Document) -> Iterator[str]:
    if claims["invented"] or claims["unreported"]:
        yield (
            f"claims differ from the wire: {claims['invented']} calls claimed and never made, "
            f"{claims['unreported']} made and never claimed"
        )
    for what in ("tokens", "turns"):
        found = claims[what]
        if found["differ"]:
            yield (
                f"claims {found['claimed']:,} {what} where {found['observed']:,} were observed; "
                f"they differ in {found['differ']} of {found['trials']} trials"
            )
    if claims["unasked"]:
        yield f"{_number(claims['unasked'], 'call')} of Apis that no answer of the model asked for; they score nothing"


def _on_wire(summary: Document, max_tokens: int | None) -> Iterator[str]:
    refused, cut, written = summary["refused_requests"], summary["truncated"], summary["text_calls"]
    told = sum(found["count"] for found in summary["failures"] if found["kind"] == "limit")
    if refused["trials"] > told:  # else the reason of their failures says so
        yield (
            f"{_number(refused['trials'], 'trial')} stopped by the limit: "
            f"{_number(refused['requests'], 'request')} past {_options(refused.get('limits'))} refused"
        )
    lost, filled = summary.get("lost_calls"), summary.get("filled_arguments")
    if lost and lost["calls"]:
        yield (
            f"{_number(lost['calls'], 'call')} in {_number(lost['trials'], 'trial')} could not be made with what the "
            f"framework offered: {counts(lost['reasons'])}"
        )
    if filled and filled["arguments"]:
        yield (
            f"{_number(filled['arguments'], 'optional argument')} in {_number(filled['trials'], 'trial')} had to be "
            "made up, as the framework offered them as required"
        )
    if cut["answers"]:
        limit = "the model's own limit of tokens" if max_tokens is None else f"max_tokens ({max_tokens})"
        yield f"{_number(cut['answers'], 'answer')} of the model cut by {limit}, in {_number(cut['trials'], 'trial')}"
    if not summary["finish_reasons"].keys() <= USUAL_REASONS:
        yield f"finish_reason of the model's answers: {counts(summary['finish_reasons'])}"
    if written["calls"]:
        yield (
            f"the model wrote {_number(written['calls'], 'call')} as text instead of sending them, in "
            f"{_number(written['trials'], 'trial')}; such calls count for nothing"
        )


def _options(limits: Mapping[str, int] | None) -> str:
    """The options of the limits that were passed; documents of earlier versions know one."""
    return " or ".join(f"--{name.replace('_', '-')}" for name in limits or {"max_steps": 0})


def _on_first_trials(first: Document, timed: int | None) -> Iterator[str]:
    wall = first["averages"].get("wall_time")
    if first["count"] and timed and not first["kept_apart"]:
        yield (
            f"times include the start-up of its workers: {first['count']} of {_number(timed, 'trial')} "
            f"{'was' if first['count'] == 1 else 'were'} the first of a worker"
        )
    if first["kept_apart"] and wall is not None:
        yield (
            f"times leave out the first trial of each worker ({first['count']}), "
            f"which took {compact(wall)} s on average"
        )


def _on_repeated(repeated: Document) -> Iterator[str]:
    if repeated["trials"]:
        trials, replaced = _number(repeated["trials"], "failed trial"), repeated["replaced"]
        later = f", but in {replaced:,} a later one, as the adapter or its environment changed" if replaced else ""
        yield f"{trials} repeated: the first attempt counts{later}"


def _number(count: int, name: str) -> str:
    return f"1 {name}" if count == 1 else f"{count:,} {name}s"
