"""Choose the queries of a run, which are all of a dataset or a slice of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence

from trialbed.contracts import Dataset
from trialbed.errors import UsageError
from trialbed.records import Query
from trialbed.suggestions import closest, did_you_mean

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
