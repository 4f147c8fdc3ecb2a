"""Frameworks get the same seed for the same query and repeat, so that a model's draws do not tell them apart."""

from __future__ import annotations

import random

import pytest
from support.bench import Bench

from trialbed_scripted import ModelTurn, ReceivedRequest, say, serve

pytestmark = pytest.mark.slow


def drawn(request: ReceivedRequest) -> ModelTurn:
    """The answer of a model at temperature 1: drawn by the request's seed."""
    assert request.document["temperature"] == 1
    return say(f"I drew {random.Random(request.document['seed']).random()}")


def test_equal_requests_of_two_frameworks_get_the_same_sample(bench: Bench) -> None:
    with serve(drawn) as model:
        reference, langgraph = bench(
            "run", "-f", "reference", "-f", "langgraph", "--model", "m", "--base-url", model.url, "--temperature", 1,
            "--limit", 3, "--repeat", 2, "--json",
        ).documents  # fmt: skip
    answers = [[result["final_answer"] for result in found["results"]] for found in (reference, langgraph)]
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 6
