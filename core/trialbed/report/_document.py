"""The result document of one framework in one run, as StableToolBench's runners write it."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from trialbed.records import TrialResult
from trialbed.report._document_summary import clean, legacy_summary
from trialbed.report._entries import entry
from trialbed.report._files import json_bytes, open_scratch_file, unwritable
from trialbed.report._metadata import metadata
from trialbed.report._packed import finder
from trialbed.report._records import Summary
from trialbed.report._report import Report
from trialbed.report._trials import ReportedTrial
from trialbed.report.attribution import AttributedCall
from trialbed.report.comparison import FactorEffects
from trialbed.scoring import zero_scores
from trialbed.settings import secret_values


def legacy_document(report: Report, framework: str) -> dict[str, Any]:
    """``{"metadata", "summary", "results"}``, ready to be written as JSON; its schema is ``document_schema()``.

    Keys that StableToolBench's runners write have their names and meanings; failures count as 0 there and here.
    Differences: unless the run made the expected calls itself, ``gold_answer_time``, ``gold_api_responses`` and their
    average are null; where the dataset has a reference answer, that is the ``gold_answer``; failures enter no average
    of times; a trial that was not measured has null scores and enters no average.

    Raises:
        DataError: a plugin's figure has the name of another.
    """
    summary = report[framework]
    return _documents(report, [summary], report.trials(summary.framework))[0]


def legacy_documents(report: Report) -> list[dict[str, Any]]:
    """The documents of all frameworks."""
    return _documents(report, report.frameworks, report.trials())


def _documents(report: Report, summaries: Iterable[Summary], trials: Iterator[TrialResult]) -> list[dict[str, Any]]:
    """Return the documents of some frameworks, of which these are the trials."""
    write, effects = _EntryWriter(report), report.factors
    whole = {(result.key, result.attempt): result for result in trials}
    return [
        _frame(summary, effects, [write(summary, trial, whole[trial.key, trial.attempt]) for trial in summary.trials])
        for summary in summaries
    ]


def legacy_metadata(summary: Summary) -> dict[str, Any]:
    """The document's ``metadata``."""
    found: dict[str, Any] = clean(metadata(summary.run, summary.framework), ())
    return found


@contextmanager
def open_documents(
    report: Report, folder: str | os.PathLike[str] | None = None
) -> Iterator[Iterator[tuple[dict[str, Any], Iterator[bytes]]]]:
    """Give each framework's document without its results, and these as JSON, one by one.

    The trials are read once, and their entries are kept in a file: a long run need not fit into memory.

    Args:
        folder: where that file is; None for the system's folder of temporary files.

    Raises:
        DataError: it cannot be written.
    """
    entries = {summary.framework: _Entries(summary) for summary in report.frameworks}
    write = _EntryWriter(report)
    with open_scratch_file(folder) as file:
        for result in report.trials():
            own = entries[result.key.framework]
            place = own.place_of(result)
            text = json_bytes(write(own.summary, own.summary.trials[place], result))
            own.begins[place], own.lengths[place] = file.tell(), len(text)
            try:
                file.write(text)
            except OSError as error:
                raise unwritable(folder or tempfile.gettempdir(), error) from error

        effects = report.factors
        yield ((_frame(own.summary, effects, []), own.read(file)) for own in entries.values())


class _Entries:
    """Where the entries of a framework's trials lie in a file."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._find = finder(summary.trials)
        self.begins, self.lengths = (array("Q", [0]) * len(summary.trials) for _ in range(2))

    def place_of(self, result: TrialResult) -> int:
        """Return the place of a trial that counts among those of its framework."""
        place = self._find(result.key, result.attempt)
        assert place is not None  # noqa: S101 - it is one that counts
        return place

    def read(self, file: IO[bytes]) -> Iterator[bytes]:
        """Read the entries in the order of the trials."""
        for begin, length in zip(self.begins, self.lengths, strict=True):
            file.seek(begin)
            yield file.read(length)


class _EntryWriter:
    """Makes the entries of a report's trials."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._secrets = secret_values()
        self._quality = {
            summary.framework: [score.name for score in summary.scores.values() if score.quality]
            for summary in report.frameworks
        }

    def __call__(self, summary: Summary, trial: ReportedTrial, result: TrialResult) -> dict[str, Any]:
        query, gold = self._report.queries[trial.query_id], self._report.gold.get(trial.query_id)
        zeros = zero_scores(self._quality[summary.framework], trial.query_id, self._report.absent)
        found: dict[str, Any] = clean(entry(query, result, zeros, gold), self._secrets)
        if trial.gold_calls is not None:
            found["gold_calls"] = list(map(_gold_call, trial.gold_calls))
        return found


def _frame(summary: Summary, effects: FactorEffects | None, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metadata": legacy_metadata(summary),
        "summary": legacy_summary(summary),
        "results": entries,
    }
    if effects is not None:
        found["summary"]["effects"] = _effects(effects)
    return found


def _effects(effects: FactorEffects) -> dict[str, Any]:
    """Return the effects of the run's factors, which are the same in the documents of all its columns."""
    factors = {
        factor.name: {
            "levels": list(factor.levels),
            "differences": {
                finding.candidate: {"against": finding.baseline, **finding.as_json()} for finding in factor.findings
            },
        }
        for factor in effects.factors
    }
    contrasts = [
        {
            "more": contrast.more,
            "less": contrast.less,
            "shown": contrast.is_shown,
            "difference": contrast.difference,
            "low": contrast.interval.low,
            "high": contrast.interval.high,
        }
        for contrast in effects.contrasts
    ]
    return {"score": effects.score, "factors": factors, "contrasts": contrasts}


def _gold_call(call: AttributedCall) -> dict[str, Any]:
    return {
        "api": list(call.gold.api.pair),
        "arguments": call.gold.arguments,
        "lost": call.lost,
        "reason": call.reason,
    }
