"""Runs that grow, and failed trials that are repeated: nothing is paid for twice, and no score gets better by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from trialbed import open_store, run_benchmark


class Fallible:
    """Asks the model once per query, and raises where it is told to."""

    def __init__(self, server: str) -> None:
        self.model = OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0)
        self.failing: set[int] = set()
        self.asked = 0

    def answer(self, query: str) -> dict[str, Any]:
        self.asked += 1
        self.model.chat.completions.create(model="any", messages=[{"role": "user", "content": query}])
        if self.asked in self.failing:
            raise RuntimeError("not today")
        return {"answer": {"final_answer": "x", "answer_details": []}}


@pytest.fixture
def agent(server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fallible:
    monkeypatch.chdir(tmp_path)
    return Fallible(server_url)


def test_a_run_grows_and_failed_trials_are_repeated_without_a_better_score(agent: Fallible, server_url: str) -> None:
    def run(queries: int, **settings: Any) -> dict[str, Any]:
        url = f"{server_url}/virtual"
        return run_benchmark(agent, "mini", queries, url, agent_name="a", model="scripted:none", **settings)

    agent.failing = {1}
    first = run(2)
    assert (agent.asked, first["summary"]["failed_count"]) == (2, 1)

    again = run(2, retry_failed=True)
    assert agent.asked == 3
    assert again["metadata"]["run_id"] == first["metadata"]["run_id"]
    assert again["summary"]["failed_count"] == 1  # the first attempt keeps its score
    assert again["summary"]["repeated"] == {"trials": 1, "replaced": 0}
    assert again["summary"]["totals"]["model_requests"] == 3

    run(2, retry_failed=True)
    assert agent.asked == 3  # it was answered when it was repeated

    grown = run(4, extend="last")
    assert agent.asked == 5
    assert grown["metadata"]["run_id"] == first["metadata"]["run_id"]
    assert grown["metadata"]["num_queries"] == len(grown["results"]) == 4
    with open_store() as store:
        (stored,) = store.runs()
        attempts = [(attempt.key.query_id, attempt.attempt, attempt.status) for attempt in stored.attempts()]
    ids = stored.config.query_ids
    assert attempts[:3] == [(ids[0], 0, "failed"), (ids[1], 0, "answered"), (ids[0], 1, "answered")]
    assert [attempt[1:] for attempt in attempts[3:]] == [(0, "answered")] * 2

    assert run(2)["metadata"]["run_id"] != first["metadata"]["run_id"]
