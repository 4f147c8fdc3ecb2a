"""Keeps the figures of runs until the runs change, so that their pages are fast."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from markupsafe import Markup

from trialbed.catalogs import run_queries
from trialbed.drivers import load_driver
from trialbed.errors import TrialbedError
from trialbed.records import Query, Run
from trialbed.scoring import TIMES
from trialbed.store import RunVersion, StoredRun, column_table
from trialbed.views import html_parts
from trialbed_pages.runs.figures import COST, TOKENS, QueryId, RunFigures
from trialbed_pages.runs.headlines import Headline, headline_candidates, kept_headline

T = TypeVar("T")

KEPT = 6
"""Runs whose figures are kept."""

KEPT_HEADLINES = 200
"""Runs whose headline figures are kept, as lists show them."""

KEPT_VERIFICATIONS = 8
"""Verifications whose page is kept."""

FRESH = 3.0
"""Seconds for which the version of a run is not asked for again, where its store has no mark that shows it at once."""


@dataclass
class _CacheEntry:
    """A value that was read of a run.

    Attributes:
        version: of the run.
        mark: of the store, at the time ``seen``.
    """

    record: Run
    version: RunVersion
    mark: object
    seen: float
    value: Any


class FigureCache:
    """Figures of the runs that were looked at last; any thread may use it.

    Args:
        data_dir: where datasets are.
        queries: run -> its tasks, of runs whose dataset is not read.
    """

    def __init__(self, data_dir: Path, queries: Mapping[str, Mapping[QueryId, Query]] = MappingProxyType({})) -> None:
        self._data_dir = data_dir
        self._figures = OrderedDict[tuple[str, str], _CacheEntry]()
        self._headlines = OrderedDict[tuple[str, str], _CacheEntry]()
        self._verifications = OrderedDict[tuple[str, str], _CacheEntry]()
        self._queries: dict[str, Mapping[QueryId, Query] | None] = {**queries}
        self._of_store: tuple[object, Any] | None = None
        self._lock = threading.Lock()

    def of(self, run: StoredRun, score: str = "") -> RunFigures:
        """Return the figures of a run, with the values of a score beside those of the headline and the times."""
        own = (*headline_candidates(run), *TIMES, TOKENS, COST)
        names = own if score in ("", *own) else (*own, score)
        key = (run.run_id, "" if names == own else score)
        return self._cached_value(self._figures, KEPT, key, run, lambda: self._read(run, names))

    def headline(self, run: StoredRun) -> Headline:
        """Return the figures of a run in the list of runs."""

        def read() -> Headline:
            if kept := kept_headline(run):
                return kept
            figures = RunFigures(run, column_table(run, headline_candidates(run)), None)
            leading = figures.headline[0]
            ends = sum((figures.trials.ends(name) for name in run.config.frameworks), Counter[str]())
            return Headline.of(ends, leading, [(name, figures.mean(name, leading)) for name in run.config.frameworks])

        return self._cached_value(self._headlines, KEPT_HEADLINES, (run.run_id, ""), run, read)

    def verification(self, run: StoredRun) -> Markup:
        """Return the content of the page of a verification, which the component ``verification`` makes."""

        def read() -> Markup:
            return html_parts(run.run_id, load_driver("components", "verification").page_parts(run))

        return self._cached_value(self._verifications, KEPT_VERIFICATIONS, (run.run_id, ""), run, read)

    def of_store(self, mark: object, read: Callable[[], T]) -> T:
        """Return a value of the whole store; it is read anew when the store's mark is another, or where it has none."""
        with self._lock:
            found = self._of_store
        if found is None or mark is None or found[0] != mark:
            found = mark, read()
            with self._lock:
                self._of_store = found
        return cast("T", found[1])

    def _read(self, run: StoredRun, names: Sequence[str]) -> RunFigures:
        return RunFigures(run, column_table(run, names), self.queries(run))

    def _cached_value(
        self,
        entries: OrderedDict[tuple[str, str], _CacheEntry],
        most: int,
        key: tuple[str, str],
        run: StoredRun,
        read: Callable[[], T],
    ) -> T:
        """Return the cached value of a key if the run is as it was, else read it."""
        with self._lock:
            found = entries.get(key)
        mark, now = run.mark, time.monotonic()
        same = found is not None and found.record == run.record
        if found is not None and same and (found.mark == mark if mark else now - found.seen < FRESH):
            return cast("T", found.value)
        version = run.version()
        value: T = found.value if found is not None and same and found.version == version else read()
        with self._lock:
            entries[key] = _CacheEntry(run.record, version, mark, now, value)
            entries.move_to_end(key)
            while len(entries) > most:
                entries.popitem(last=False)
        return value

    def forget_queries(self) -> None:
        """Open datasets anew, as the file of one was edited; all that was made of their tasks is read again."""
        with self._lock:
            self._queries.clear()
            self._figures.clear()

    def queries(self, run: StoredRun) -> Mapping[QueryId, Query] | None:
        """Return the tasks of a run; None where its dataset is out of reach or has changed."""
        with suppress(KeyError):
            return self._queries[run.run_id]
        found = None
        with suppress(TrialbedError, OSError):
            found = run_queries(run.config, self._data_dir)
        self._queries[run.run_id] = found
        return found
