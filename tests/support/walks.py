"""A stored run with all of its outputs, whose figures are compared."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from trialbed.catalogs import known_queries
from trialbed.contracts import Reporter
from trialbed.plugins import installed_listeners
from trialbed.report import Report, legacy_documents, read_report
from trialbed.report.comparison import RunComparison, compare_groups, read_groups
from trialbed.store import StoredRun
from trialbed_pages.report import run_report
from trialbed_pages.runs import RunCache, RunFigures
from trialbed_plugins.reporters import CsvReporter, MarkdownReporter

Figure = tuple[str, str]
"""A framework, and what is said of it, such as ``mean wall_time``."""


class Walk:
    """A run and all of its outputs."""

    def __init__(self, run: StoredRun, store: str, data_dir: Path) -> None:
        self.run, self.store, self.data_dir = run, store, data_dir
        self.report: Report = read_report(run, known_queries(run.config, data_dir), installed_listeners())
        self.figures: RunFigures = RunCache(data_dir).of(run)

    @property
    def is_alike(self) -> bool:
        """Whether figures are over all trials of every framework."""
        return len(self.report.frameworks) == 1 or not self.report.incomplete

    @property
    def is_priced(self) -> bool:
        return bool(self.run.record.prices)

    @cached_property
    def documents(self) -> list[dict[str, Any]]:
        return legacy_documents(self.report)

    @cached_property
    def compared(self) -> list[RunComparison]:
        sides = read_groups([self.run.run_id], self.store)[0]
        return compare_groups([sides], allow_incomplete=True) if len(sides) > 1 else []

    @cached_property
    def markdown(self) -> str:
        return self.written(MarkdownReporter())

    @cached_property
    def page(self) -> str:
        """The page of one file."""
        return run_report(self.run, data_dir=self.data_dir)

    @cached_property
    def shown(self) -> Mapping[Figure, float | None]:
        """The figures of the run, as CSV has them."""
        return {
            (record["agent_name"], f"{kind} {record['score']}"): float(record[kind]) if record[kind] else None
            for record in csv.DictReader(io.StringIO(self.written(CsvReporter())))
            for kind in ("mean", "low", "high", "median", "n")
        }

    def written(self, reporter: Reporter) -> str:
        stream = io.StringIO()
        reporter.report(self.report, stream)
        return stream.getvalue()


def setup_cells(walk: Walk) -> dict[str, dict[str, str]]:
    """Framework -> heading -> cell, of the tables of scores and of amounts in Markdown."""
    config = walk.run.config
    models = list(dict.fromkeys(config.cell(name).model for name in config.frameworks))
    # Rows are grouped by model.
    names = sorted(config.frameworks, key=lambda name: models.index(config.cell(name).model))
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for title in ("scores", "per trial"):
        part = walk.markdown.partition(f"\n## {title}\n\n")[2].partition("\n\n")[0]
        (_, *headings), _, *rows = map(_cells, part.splitlines() or ["||", "||"])
        filled = [cells for _, *cells in rows if any(cells)]
        for name, cells in zip(names, filled, strict=bool(part)):
            found[name] |= zip(headings, cells, strict=True)
    return found


def _cells(line: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def agree(walk: Walk, others: Mapping[Figure, float | None], *, least: int = 1) -> None:
    expected = walk.shown
    found = {key: value for key, value in others.items() if key in expected}
    assert len(found) >= least
    for key, value in found.items():
        told = expected[key]
        assert (value is None) == (told is None), key
        assert value is None or told is None or math.isclose(value, told, rel_tol=1e-9, abs_tol=1e-12), (
            key,
            value,
            told,
        )
