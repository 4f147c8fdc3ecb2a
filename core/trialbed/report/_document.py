"""The result document of one framework in one run, as StableToolBench's runners write it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Self

from trialbed.records import AttributedCall, GoldAnswer, TrialResult
from trialbed.report._document_summary import clean, legacy_summary
from trialbed.report._entries import entry, failed_scores
from trialbed.report._files import json_bytes, open_scratch_file, unwritable
from trialbed.report._metadata import metadata
from trialbed.report._records import QueryId, Summary
from trialbed.report._report import Queries, Report
from trialbed.report.comparison import FactorEffects
from trialbed.settings import secret_values


def legacy_document(report: Report, framework: str) -> dict[str, Any]:
    """Return ``{"metadata", "summary", "results"}``, ready to be written as JSON; its schema is ``document_schema()``.

    Keys that StableToolBench's runners write have their names and meanings; failures count as 0 there and here.
    Differences: unless the run made the expected calls itself, ``gold_answer_time``, ``gold_api_responses`` and their
    average are null; if the dataset has a reference answer, that is the ``gold_answer``; failures enter no average
    of times; a trial that was not measured has null scores and enters no average.

    Raises:
        DataError: a plugin's figure has the name of another.
    """
    label = report[framework].framework
    return next(one for one in legacy_documents(report) if one["metadata"]["agent_name"] == label)


def legacy_documents(report: Report) -> list[dict[str, Any]]:
    """Return the documents of all frameworks."""
    with open_documents(report) as documents:
        return [{**document, "results": list(map(json.loads, entries))} for document, entries in documents]


def legacy_metadata(summary: Summary) -> dict[str, Any]:
    """Return the document's ``metadata``."""
    found: dict[str, Any] = clean(metadata(summary.run, summary.framework), ())
    return found


class DocumentEntries:
    """The entries of a run's documents, in a scratch file, so that trials need not be read again at the end.

    Args:
        queries: gives the tasks by id.
        folder: where the scratch file is; None for the system's folder of temporary files.

    Raises:
        DataError: the file cannot be written.
    """

    def __init__(self, queries: Callable[[], Queries], folder: str | os.PathLike[str] | None = None) -> None:
        self._queries = queries
        self._folder = folder
        self._opened: IO[bytes] | None = None
        self._places: dict[tuple[str, QueryId, int, int], tuple[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    @property
    def _file(self) -> IO[bytes]:
        """The scratch file, which the first entry opens, so that a run without any leaves no folder behind."""
        if self._opened is None:
            self._opened = open_scratch_file(self._folder)
        return self._opened

    def clear(self) -> None:
        """Forget the entries, such as when trials have new scores."""
        self._places.clear()

    def add(self, results: Iterable[TrialResult], gold: Mapping[QueryId, GoldAnswer] | None = None) -> None:
        """Write the entries of trials.

        Args:
            gold: the answers to the expected calls of queries, if the run made them.
        """
        queries, answers, secrets = self._queries(), gold or {}, secret_values()
        for result in results:
            key = result.key
            found: dict[str, Any] = clean(entry(queries[key.query_id], result, answers.get(key.query_id)), secrets)
            if result.gold_calls is not None:
                found["gold_calls"] = clean(list(map(_gold_call, result.gold_calls)), secrets)
            text = json_bytes(found)
            self._places[key.framework, key.query_id, key.repeat, result.attempt] = self._file.seek(0, 2), len(text)
            try:
                self._file.write(text)
            except OSError as error:
                raise unwritable(self._folder or tempfile.gettempdir(), error) from error

    def complete(self, report: Report) -> None:
        """Add the entries that are missing for a report, whose trials are read."""
        if report.gold:
            self.clear()
        missing = [
            int(row["row"])
            for row in report.table
            if (row.key.framework, row.query_id, row.repeat, int(row["attempt"])) not in self._places
        ]
        self.add(report.results(missing), report.gold)

    def of(self, summary: Summary) -> Iterator[bytes]:
        """Yield the entries of a framework as JSON, in the order of its trials."""
        quality = [score.name for score in summary.scores.values() if score.quality]
        for row in summary.trials:
            begin, length = self._places[summary.framework, row.query_id, row.repeat, int(row["attempt"])]
            self._file.seek(begin)
            text = self._file.read(length)
            if row.status == "failed":  # which scores it has as 0 is known at the end alone
                absent = summary.trials.absences[int(row["absent"])]
                found = json.loads(text)  # a message may hold half of a pair of surrogates
                found["scores"] = failed_scores(name for name in quality if name not in absent)
                text = json_bytes(found)
            yield text


@contextmanager
def open_documents(
    report: Report, entries: DocumentEntries | None = None
) -> Iterator[Iterator[tuple[dict[str, Any], Iterator[bytes]]]]:
    """Give each framework's document without its results, and these as JSON, one by one.

    Args:
        entries: those that are known; the others are read from the store.

    Raises:
        DataError: the scratch file cannot be written.
    """
    with entries or DocumentEntries(lambda: report.queries) as known:
        known.complete(report)
        effects = report.factors
        yield ((_frame(summary, effects), known.of(summary)) for summary in report.frameworks)


def _frame(summary: Summary, effects: FactorEffects | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metadata": legacy_metadata(summary),
        "summary": legacy_summary(summary),
        "results": [],
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
