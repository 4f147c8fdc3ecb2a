"""Open datasets and catalogs by their names, and choose the queries of a run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from trialbed.catalogs._catalog import ApiCatalog
from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import broken_message, driver_info, list_drivers, load_driver
from trialbed.errors import DataError, DriverBroken, TrialbedError, UsageError
from trialbed.records import Api, Query, RunConfig
from trialbed.suggestions import close_file, closest, did_you_mean

RANGE = re.compile(r"([0-9]{1,12})-([0-9]{1,12})", re.ASCII)
NUMBER = re.compile(r"[0-9]{1,12}", re.ASCII)

SHOWN = 20
"""Tags and categories that an error names."""


def choose_queries(
    dataset: Dataset,
    limit: int | None,
    query_ids: Sequence[str],
    only_tags: Sequence[str] = (),
    shuffle: int | None = None,
) -> Sequence[Query]:
    """Return the queries of a run, in the dataset's order or at random.

    Args:
        limit: the most of them; None for all.
        query_ids: ids, and ranges of numbers such as ``1-5``; empty for all.
        only_tags: tags of queries, and categories of the Apis that they need, or are offered if they need no Api; empty
            for all.
        shuffle: draws their order. Two queries have the same order among any others. None for the dataset's.

    Raises:
        UsageError: a query or a tag is not in the dataset, or nothing is left.
    """
    queries = dataset.queries()
    if query_ids:
        chosen = [_matcher(wanted, queries, dataset.test_set) for wanted in query_ids]
        queries = [query for query in queries if any(fits(str(query.query_id)) for fits in chosen)]
    if only_tags:
        wanted = _check_tags(only_tags, queries, dataset.test_set)
        queries = [query for query in queries if wanted & set(map(str.casefold, _tags(query)))]
    if shuffle is not None:
        queries = sorted(queries, key=lambda query: _random_place(shuffle, query))
    found = tuple(queries[:limit])
    if not found:
        raise UsageError(f"{dataset.test_set} has no tasks to run")
    return found


def _random_place(shuffle: int, query: Query) -> bytes:
    return hashlib.sha256(json.dumps([shuffle, query.query_id]).encode()).digest()


def _matcher(wanted: str, queries: Sequence[Query], test_set: str) -> Callable[[str], bool]:
    """Return a function that checks whether a query's id is the wanted one, or lies in the range."""
    ids = {str(query.query_id) for query in queries}
    if wanted in ids:
        return lambda query_id: query_id == wanted
    ends = RANGE.fullmatch(wanted)
    if ends is None:
        raise UsageError(f"--query-id: {test_set} has no task {wanted}")
    first, last = map(int, ends.groups())

    def lies_in(query_id: str) -> bool:
        return NUMBER.fullmatch(query_id) is not None and first <= int(query_id) <= last

    if not any(map(lies_in, ids)):
        raise UsageError(f"--query-id: {test_set} has no task from {first} to {last}")
    return lies_in


def _check_tags(wanted: Sequence[str], queries: Sequence[Query], test_set: str) -> set[str]:
    known = {tag.casefold(): tag for query in queries for tag in _tags(query)}
    for name in sorted(wanted):
        if name.casefold() not in known:
            every, meant = sorted(known.values()), closest(name.casefold(), known)
            shown = ", ".join(every[:SHOWN]) + (", …" if len(every) > SHOWN else "")
            raise UsageError(
                f"--only-tag: {test_set} has no task with the tag {name!r:.60}"
                f"{did_you_mean(known[meant] if meant else None)} Their tags and categories are {shown}"
            )
    return {name.casefold() for name in wanted}


def _tags(query: Query) -> Iterator[str]:
    """Yield the tags of a query, and the categories of the Apis that it needs, or is offered if it names no calls."""
    yield from query.tags
    needed = query.gold_apis or tuple(api.ref for api in query.apis)
    yield from (ref.category for ref in needed if ref.category)


TASK_SUFFIXES = (".py", ".yaml", ".yml", ".jsonl", ".csv")
"""The endings of files of tasks; other files are queries in JSON."""

HEAD = 2**20
"""Bytes at the beginning of a file that show its kind."""

QUERIES = re.compile(rb"^(?:queries|[- ] (?:query_id|api_list|apis)) *:", re.MULTILINE)
"""The beginning of queries in YAML."""


def open_dataset(spec: str, data_dir: Path, mcp: Sequence[str] = (), answers: str | None = None) -> Dataset:
    """Open the dataset ``NAME``, ``NAME:TEST_SET``, ``FILE.json`` or a file of tasks.

    Args:
        mcp: servers with tools that are added to its own.
        answers: the source of its tools' answers; None for its own.

    Raises:
        UsageError, DataError, DriverError: as ``DatasetDriver.open`` and ``load_driver`` say.
    """
    if is_file(spec):
        kind = "tasks" if Path(spec).suffix in TASK_SUFFIXES and not _holds_queries(Path(spec)) else "file"
        return dataset_driver(kind, mcp, answers).open(spec, data_dir)
    name, _, test_set = spec.partition(":")
    if Path(spec).is_dir() and name not in _names():
        raise UsageError(f"{spec} is a folder; name a file of tasks in it, such as {Path(spec) / 'desk.py'}")
    if name not in _names() and ("/" in name or Path(name).suffix):
        raise UsageError(f"there is no file {spec}{close_file(Path(spec))}")
    try:
        dataset = dataset_driver(name, mcp, answers).open(test_set or None, data_dir)
        dataset.queries()
    except TrialbedError:
        raise
    except Exception as error:
        info = driver_info("datasets", name)
        raise DriverBroken(broken_message(info, error, "cannot give its tasks from")) from error
    return dataset


def _holds_queries(path: Path) -> bool:
    """Return whether a file in JSON Lines or YAML has queries, as published datasets have them, and not tasks."""
    with suppress(OSError, ValueError, RecursionError), path.open("rb") as file:
        if path.suffix == ".jsonl":
            first = json.loads(file.readline(HEAD))
            return isinstance(first, dict) and "query_id" in first
        return path.suffix in (".yaml", ".yml") and QUERIES.search(file.read(HEAD)) is not None
    return False


def dataset_driver(name: str, mcp: Sequence[str] = (), answers: str | None = None) -> DatasetDriver:
    """Return an instance of the dataset driver of this name; see ``open_dataset``."""
    driver = cast("DatasetDriver", load_driver("datasets", name)())
    if mcp or answers:
        driver.use_tools(mcp, answers)
    return driver


def is_file(spec: str) -> bool:
    """Return whether this is a file, and not a dataset by its name."""
    if spec.partition(":")[0] in _names():
        return False
    return spec.endswith(".json") or Path(spec).is_file()


def _names() -> set[str]:
    return {driver.name for driver in list_drivers("datasets")}


def run_queries(config: RunConfig, data_dir: Path) -> Mapping[int | str, Query]:
    """Read the queries of a run from its dataset.

    Raises:
        DataError: the dataset is another one now.
        UsageError, DriverError: as ``open_dataset`` says.
    """
    dataset = open_dataset(config.dataset, data_dir)
    if dataset.digest() != config.dataset_digest:
        raise DataError(f"the dataset {config.dataset} has changed since the run: its digest differs")
    known = {query.query_id: query for query in dataset.queries()}
    return {query_id: known[query_id] for query_id in config.query_ids}


def known_queries(config: RunConfig, data_dir: Path) -> Mapping[int | str, Query] | None:
    """Read the queries of a run, or None if its dataset is out of reach or has changed; the store has the rest."""
    try:
        return run_queries(config, data_dir)
    except (TrialbedError, OSError):
        return None


def open_catalog(datasets: Sequence[Dataset], names: Sequence[str], data_dir: Path) -> ApiCatalog:
    """Open the Apis of datasets, then of the named ones.

    Args:
        names: ``NAME`` for all test sets of a dataset, ``NAME:TEST_SET``, or a file of queries.

    Raises:
        UsageError, DataError, DriverError: a dataset is not there, or cannot be read.
    """
    own = [dataset.apis() for dataset in datasets]
    return ApiCatalog(*own, *(part for name in names for part in _parts(name, data_dir)))


def _parts(name: str, data_dir: Path) -> Iterator[Sequence[Api]]:
    known = _names()
    driver, colon, _ = name.partition(":")
    if colon or driver not in known:
        if driver not in known and not is_file(name):
            raise UsageError(
                f"--catalog {name}: there is no such dataset or file; a folder of documents about tools is imported by "
                "bench data import FOLDER"
            )
        yield open_dataset(name, data_dir).apis()
    else:
        for test_set in dataset_driver(name).test_sets(data_dir) or (None,):
            yield dataset_driver(name).open(test_set, data_dir).apis()
