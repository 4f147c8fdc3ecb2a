"""The title of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from support.cases import for_each
from support.stored_runs import NEW, run
from support.trials import cells_of, changed_config

from trialbed.records import EndpointInfo, labels_in_words
from trialbed.report import fault_note, run_title

TITLES = {
    ("reference",): "reference with scripted:wrong-args on 3 tasks (mini)",
    ("a", "b"): "a and b with scripted:wrong-args on 3 tasks (mini)",
    ("a", "b", "c", "d"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
    ("a:native", "a:controlled", "b", "c"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
    ("a==1.0", "a==1.1", "b@0.5", "b@0.7"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
}

ENDPOINTS = {
    (("k2", "a"), ("k2", "b")): "Verification: a and b with k2 on 1 task (set)",
    (("k2", "a"), ("k2", "b"), ("k2", "c"), ("k2", "d")): "Verification: 4 endpoints with k2 on 1 task (set)",
    (("k2", "a"), ("k2", "b"), ("m1", "a"), ("m1", "b")): "Verification: 4 endpoints with k2 on 1 task (set)",
}


@for_each("frameworks", TITLES)
def test_a_title_says_what_was_compared(frameworks: tuple[str, ...]) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), frameworks)
    config = made.config.model_copy(update={"query_ids": (1, 2, 3), "repeat": 1, "test_set": "mini"})
    config = changed_config(config, model="scripted:wrong-args")
    assert run_title(made.model_copy(update={"config": config})) == TITLES[frameworks]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("replay:/home/ann/records/kept.cassette", "replay:…/kept.cassette"),
        ("replay:../kept.cassette", "replay:…/kept.cassette"),
        ("replay:kept.cassette", "replay:kept.cassette"),
        ("meta/llama", "meta/llama"),
        ("local:qwen", "local:qwen"),
    ],
)
def test_a_model_that_is_a_file_is_named_without_its_folders(model: str, said: str) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), ("reference",))
    config = changed_config(made.config, model=model)
    assert f" with {said} on " in run_title(made.model_copy(update={"config": config}))


@pytest.mark.parametrize(("rate", "said"), [(0.25, ", with injected faults"), (0, "")])
def test_a_title_says_that_faults_were_injected(rate: float, said: str) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), ("reference",))
    config = made.config.model_copy(update={"faults": f'{{"tools": {{"rate": {rate}}}}}'})
    assert run_title(made.model_copy(update={"config": config})).endswith(f"({config.test_set}){said}")


def test_the_note_on_faults_says_how_often_there_were_which() -> None:
    plan = {"tools": {"rate": 0.3, "faults": ["error", "rate_limit"]}, "model": {"rate": 0.1, "faults": ["empty"]}}
    assert fault_note(json.dumps(plan)) == (
        "Faults were put in on purpose: 30 % of the calls of tools (error, rate limit); "
        "10 % of the requests to the model (empty)"
    )
    assert fault_note(json.dumps({"model": plan["model"]})) == (
        "Faults were put in on purpose: 10 % of the requests to the model (empty)"
    )
    assert fault_note(None) == ""
    assert fault_note(json.dumps({"tools": {"rate": 0.3, "faults": []}})) == ""


@for_each("pairs", ENDPOINTS)
def test_the_title_of_a_verification_says_that_it_is_one(pairs: tuple[tuple[str, str], ...]) -> None:
    endpoints = tuple(EndpointInfo(label=name, model=model, vendor=name, configuration="c") for model, name in pairs)
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), tuple(one.label for one in endpoints))
    config = changed_config(made.config, query_ids=(1,), repeat=1, test_set="set", model="k2")
    assert run_title(made.model_copy(update={"config": config, "endpoints": endpoints})) == ENDPOINTS[pairs]


def test_a_title_names_the_numbers_of_tools_and_labels_in_words() -> None:
    names = ("reference", "reference@max_tools=20", "reference@temperature=0.5,max_tools=1")
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), names)
    first, second, third = cells_of(*names, model="m", max_tools=5)
    cells = first, second.model_copy(update={"max_tools": 20}), third
    config = made.config.model_copy(update={"cells": cells, "query_ids": (1,)})
    title = run_title(made.model_copy(update={"config": config}))
    said = "reference, reference with 20 tools and reference at temperature 0.5 with 1 tool with m on 1 task"
    assert title.startswith(said)
    assert title.endswith(f"({config.test_set}), with 5 and 20 tools")


def test_a_command_within_a_text_keeps_its_labels() -> None:
    text = "a@max_tools=1 failed [task 4: bench show RUN a@max_tools=1,temperature=0.5/4], a@max_tools=2 too"
    said = "a with 1 tool failed [task 4: bench show RUN a@max_tools=1,temperature=0.5/4], a with 2 tools too"
    assert labels_in_words(text) == said
