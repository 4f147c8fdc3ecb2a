"""The report of a run as its store keeps it: the figures alone, so that nothing is read of its trials to show them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import version
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from trialbed.errors import TrialbedError
from trialbed.listeners import Listeners
from trialbed.records import Run, ScoreDescription
from trialbed.report._build import Queries, ended_run, queries_of, read_report
from trialbed.report._records import Counts, KeptFigures, ScoreSummary, Summary
from trialbed.report._report import Report
from trialbed.report._worst import worst_queries
from trialbed.report.kept._late import LateMapping, LateSequence
from trialbed.report.kept._shape import shape
from trialbed.settings import secret_values
from trialbed.store import KEPT_FROM, MadeReport, ReportPart, Store, StoredRun, report_part, require_frameworks
from trialbed.store import make_report as make_stored
from trialbed.wire.redaction import redact

FIGURES = "figures"
"""The part of a kept report that has the figures."""

WITHOUT_TASKS = "figures without tasks"
"""The part with the figures that are known without the dataset; it is read only where that is out of reach."""

FORMAT = 8
"""Incremented where figures are reckoned otherwise within a version of Trialbed; new fields are noticed."""

NOT_KEPT = ("run", "trials", "absent")
"""Fields of a summary that are the run's own, or of each of its trials."""

FROM_TRIALS = ("counts", "tokens", "wire", "claims", "last_end")
"""Fields of a summary that are the same whether the dataset is within reach or not."""

WORDS = ("message", "reason")
"""Keys of texts of foreign origin, in which secrets are masked."""

AskQueries = Callable[[], Queries | None]
"""Reads the queries of a run; None where its dataset is out of reach."""


@dataclass(frozen=True)
class FrameworkHeadline:
    """The figures of a framework in a list of runs.

    Attributes:
        scores: none of a row that is void.
    """

    counts: Counts
    scores: Mapping[str, ScoreSummary]


def stored_report(
    run: StoredRun,
    ask: AskQueries,
    *,
    listeners: Listeners,
    store: str | None = None,
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Report:
    """Report a run as ``read_report`` does, by the figures that its store keeps of it.

    They are made anew where there are none, or where they are of another version or of other trials.

    Args:
        ask: called where a query is looked at, or trials are.
        listeners: the installed plugins.
        store: the file or URL in which figures that took long to make are kept; None to keep none.
        meanwhile: gives a context in which these are made.
    """
    asked = cache(ask)
    for part in (FIGURES, WITHOUT_TASKS):
        if part == FIGURES or asked() is None:
            text = report_part(require_frameworks(run), part, _version(), _beside(listeners))
            if text is not None:
                return _read(run, json.loads(text), asked, listeners)
    with meanwhile():
        if store is None or run.status == "running" or run.version().attempts < KEPT_FROM:
            return _whole_report(run, asked(), listeners)
        return _make_and_keep(run, asked(), store, listeners)


def _whole_report(run: StoredRun, queries: Queries | None, listeners: Listeners) -> Report:
    return read_report(run, queries, described=listeners.descriptions(), aggregate=listeners.aggregate)


def _make_and_keep(run: StoredRun, queries: Queries | None, store: str, listeners: Listeners) -> Report:
    made: list[Report] = []

    def report() -> Report:
        made.append(_whole_report(run, queries, listeners))
        return made[0]

    kept = make_report(run, report, listeners, part=FIGURES if queries is not None else WITHOUT_TASKS)
    with suppress(TrialbedError):  # a store that cannot be written is read all the same
        _keep(kept, store)
    return made[0]


def _keep(report: MadeReport, place: str) -> None:
    with Store.open(place) as store:
        store.keep_report(report)


def make_report(run: StoredRun, report: Callable[[], Report], listeners: Listeners, part: str = FIGURES) -> MadeReport:
    """Return what a store keeps of a run as its report.

    Args:
        report: reports the run as ``read_report`` does, incomplete ones with the figures over what all have.
        listeners: the plugins of the run.
        part: has the figures.
    """

    def parts() -> list[ReportPart]:
        found = report()
        if listeners.failed:  # so that the plugin is asked again by those who read the run
            return []
        try:
            text = json.dumps(_kept_figures(found))
        except (TypeError, ValueError):  # a figure of a plugin that JSON does not hold
            return []
        return [ReportPart(part, _version(), lambda: text, _beside(listeners))]

    return make_stored(run, parts)


def headlines(run: StoredRun, listeners: Listeners) -> dict[str, FrameworkHeadline] | None:
    """Return the headline of each framework of a run, as its store keeps them; None where it keeps none.

    None, too, where figures are held to trials that every framework has: the store keeps their means alone.
    """
    if run.record.kind != "frameworks":
        return None
    text = report_part(run, FIGURES, _version(), _beside(listeners))
    if text is None:
        return None
    frameworks = json.loads(text)["frameworks"]
    if any(each["common"] is not None for each in frameworks):
        return None
    counts, scores = _reader(Counts), _reader(Mapping[str, ScoreSummary])
    return {
        each["framework"]: FrameworkHeadline(
            counts(each["counts"]), {} if each["integrity"]["void"] else scores(each["scores"])
        )
        for each in frameworks
    }


def difference_of_kept(run: StoredRun, ask: AskQueries, listeners: Listeners) -> str:
    """Return where the figures that a store keeps of a run are others than those of its trials; empty for nowhere.

    What plugins add is left out, as they may have changed.
    """
    text = report_part(run, FIGURES, _version(), _beside(listeners))
    if text is None:
        return ""
    kept, queries = json.loads(text), ask()
    made = json.loads(json.dumps(_kept_figures(_whole_report(run, queries, listeners))))
    for before, now in zip(kept["frameworks"], made["frameworks"], strict=True):
        for name in sorted(before):
            # Without the dataset, neither lost calls nor the scores that a query cannot have are known.
            is_known = name != "extra" and (queries is not None or name in FROM_TRIALS)
            if is_known and _as_text(before[name]) != _as_text(now[name]):
                return f"{name} of {before['framework']}"
    return ""


def _as_text(value: Any) -> str:
    """Return a value as a text, in which one NaN is another, and a mapping has no order."""
    return json.dumps(value, sort_keys=True)


@cache
def _version() -> str:
    kept = [shape(hint) for name, hint in _summary_hints().items() if name not in NOT_KEPT]
    fields_of = hashlib.sha256("".join([*kept, shape(KeptFigures)]).encode()).hexdigest()
    return f"{version('trialbed')}/{FORMAT}/{fields_of[:12]}"


def _beside(listeners: Listeners) -> tuple[str, ...]:
    return listeners.releases("aggregate_scores")


def _kept_figures(report: Report) -> dict[str, Any]:
    figures = KeptFigures(report.factors, tuple(worst_queries(report)))
    return {"frameworks": list(map(_plain_summary, report.frameworks)), "figures": to_jsonable_python(figures)}


def _plain_summary(summary: Summary) -> dict[str, Any]:
    if json.loads(json.dumps(dict(summary.extra))) != summary.extra:
        raise ValueError("a plugin's figure would be read back as another")
    kept = {item.name: getattr(summary, item.name) for item in fields(summary) if item.name not in NOT_KEPT}
    return {**to_jsonable_python(kept), "extra": dict(summary.extra)}


def _read(run: StoredRun, found: dict[str, Any], ask: AskQueries, listeners: Listeners) -> Report:
    _mask(found, secret_values())
    whole = cache(lambda: _whole_report(run, ask(), listeners))
    record = ended_run(run.record)
    described = {**listeners.descriptions(), **record.scores}
    return Report(
        run=record,
        frameworks=tuple(_read_summary(record, each, whole, described) for each in found["frameworks"]),
        queries=LateMapping(lambda: queries_of(record, ask())),
        described=described,
        gold=LateMapping(run.gold_answers),
        whole=run.each_result,
        absent=LateMapping(lambda: whole().absent),
        kept=_reader(KeptFigures)(found["figures"]),
    )


def _read_summary(
    run: Run, found: Mapping[str, Any], whole: Callable[[], Report], described: Mapping[str, ScoreDescription]
) -> Summary:
    framework = found["framework"]
    own = {name: _reader(hint)(found[name]) for name, hint in _summary_hints().items() if name in found}
    scores: Mapping[str, ScoreSummary] = own.pop("scores")
    return Summary(
        run=run,
        trials=LateSequence(lambda: whole()[framework].trials),
        absent=LateMapping(lambda: whole().absent),
        scores={name: replace(score, description=described.get(name)) for name, score in scores.items()},
        **own,
    )


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads a value of a type from JSON's types."""
    return TypeAdapter(kind).validate_python


@cache
def _summary_hints() -> dict[str, Any]:
    return get_type_hints(Summary)


def _mask(value: Any, secrets: Any) -> None:
    """Mask secrets in words of foreign origin; this process may know others than the one that kept them."""
    for key, own in _items(value):
        if key in WORDS and isinstance(own, str):
            value[key] = redact(own, secrets)
        elif isinstance(own, dict | list):
            _mask(own, secrets)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if isinstance(value, dict) else enumerate(value)
