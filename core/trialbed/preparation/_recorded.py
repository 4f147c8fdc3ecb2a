"""Recorded models have answers for the queries of their recordings only: which of a run's these are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from trialbed.catalogs import ids_of, pick_queries
from trialbed.contracts import ModelInfo
from trialbed.preparation._options import RunOptions
from trialbed.preparation._trials import trial_seed
from trialbed.records import Query, TrialKey
from trialbed.texts import number_of

SHOWN = 10
"""Ids that a note names."""


class Recorded(NamedTuple):
    """The queries of a run, and a sentence on those that its models have no answers for; empty where they have all."""

    queries: Sequence[Query]
    note: str = ""


def recorded_queries(
    options: RunOptions, queries: Sequence[Query], models: Mapping[str, ModelInfo], *, own: bool = False
) -> Recorded:
    """Leave out queries that a recorded model has no answers for, where the user has not chosen queries.

    A recording that has answers for none leaves all: each trial says in what it differs.

    Args:
        own: whether the dataset is an object of the calling program, which has chosen its tasks.
    """
    recorded = {name: info.answers_seed for name, info in models.items() if info.answers_seed is not None}
    if not recorded:
        return Recorded(queries)
    answers, ids = [*recorded.values()], ids_of(queries)
    known = pick_queries(queries, [place for place, own in enumerate(ids) if _is_known(own, options, answers)])
    if not known or len(known) == len(queries):
        return Recorded(queries)
    names, total = " and ".join(recorded), len(queries)
    if own or options.limit or options.query_ids or options.categories or options.shuffle is not None:
        missing = f"{total - len(known)} of {number_of(total, 'query', 'queries')}"
        note = f"{names}: no answers are recorded for {missing}, whose trials are not measured"
        return Recorded(queries, f"{note}; recorded are {_ids(known)}")
    some = f"{len(known)} of {number_of(total, 'query', 'queries')}"
    note = f"{names}: answers are recorded for {some}, and these are run: {_ids(known)}"
    return Recorded(known, f"{note}; --limit {total} runs all")


def _is_known(query_id: int | str, options: RunOptions, recorded: Sequence[Callable[[int], bool]]) -> bool:
    keys = [TrialKey(framework="", query_id=query_id, repeat=repeat) for repeat in range(options.repeat)]
    seeds = [trial_seed(options.seed, key) for key in keys]
    return all(any(map(answers, seeds)) for answers in recorded)


def _ids(queries: Sequence[Query]) -> str:
    shown = ", ".join(map(str, ids_of(queries[:SHOWN])))
    return f"{shown}, …" if len(queries) > SHOWN else shown
