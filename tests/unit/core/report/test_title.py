"""The title of a run."""

from __future__ import annotations

from datetime import UTC, datetime

from support.cases import for_each
from support.stored_runs import NEW, run

from trialbed.records import EndpointInfo
from trialbed.report import run_title

TITLES = {
    ("reference",): "reference with scripted:wrong-args on 3 queries (mini)",
    ("a", "b"): "a and b with scripted:wrong-args on 3 queries (mini)",
    ("a", "b", "c", "d"): "4 frameworks with scripted:wrong-args on 3 queries (mini)",
    ("a:native", "a:controlled", "b", "c"): "4 set-ups with scripted:wrong-args on 3 queries (mini)",
    ("a==1.0", "a==1.1", "b@0.5", "b@0.7"): "4 set-ups with scripted:wrong-args on 3 queries (mini)",
}

ENDPOINTS = {
    (("k2", "a"), ("k2", "b")): "Verification: a and b with k2 on 1 query (set)",
    (("k2", "a"), ("k2", "b"), ("k2", "c"), ("k2", "d")): "Verification: 4 vendors with k2 on 1 query (set)",
    (("k2", "a"), ("k2", "b"), ("m1", "a"), ("m1", "b")): "Verification: 4 endpoints with k2 on 1 query (set)",
}


@for_each("frameworks", TITLES)
def test_a_title_says_what_was_compared(frameworks: tuple[str, ...]) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), frameworks)
    config = made.config.model_copy(update={"query_ids": (1, 2, 3), "repeat": 1, "test_set": "mini"})
    config = config.model_copy(update={"model": "scripted:wrong-args"})
    assert run_title(made.model_copy(update={"config": config})) == TITLES[frameworks]


@for_each("pairs", ENDPOINTS)
def test_the_title_of_a_verification_says_that_it_is_one(pairs: tuple[tuple[str, str], ...]) -> None:
    endpoints = tuple(EndpointInfo(label=name, model=model, vendor=name, configuration="c") for model, name in pairs)
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), tuple(one.label for one in endpoints))
    config = made.config.model_copy(update={"query_ids": (1,), "repeat": 1, "test_set": "set", "model": "k2"})
    assert run_title(made.model_copy(update={"config": config, "endpoints": endpoints})) == ENDPOINTS[pairs]
