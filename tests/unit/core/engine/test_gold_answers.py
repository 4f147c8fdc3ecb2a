"""The gold calls of a run's queries, made by the run itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from support.trials import run_config, run_of

from trialbed.engine._control import ControlClient
from trialbed.engine._gold import make_gold_calls
from trialbed.errors import ServerUnavailable
from trialbed.records import (
    Api,
    ApiCall,
    ApiRef,
    GoldAnswer,
    GoldCall,
    Parameter,
    Query,
    TrialRegistration,
    WireLog,
)
from trialbed.store import Store

NOW = ApiRef(category="C", tool_name="Weather", api_name="now")
CITY = Parameter(name="city", type="STRING", default="Bern")
API = Api(category="C", tool_name="Weather", api_name="now", description="", required_parameters=(CITY,))
BARE = Query(query_id=1, text="?", apis=(API,), gold_calls=(GoldCall(api=NOW),))
GIVEN = Query(query_id="b", text="?", apis=(API,), gold_calls=(GoldCall(api=NOW, arguments={"city": "Basel"}),) * 2)
NOTHING = Query(query_id=3, text="?", apis=(API,))


class Server:
    """Notes the calls that it gets, and answers each with its city; fails for some."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.calls: dict[str, list[ApiCall]] = {}
        self.simulators: set[str] = set()

    async def open_trial(self, registration: TrialRegistration) -> None:
        self.simulators.add(registration.simulator)
        self.calls[registration.trial] = []

    async def call_api(self, trial: str, call: GoldCall) -> None:
        arguments = call.arguments or {}
        if arguments["city"] == self.failing:
            raise ServerUnavailable("the server is gone")
        answer = ApiCall(started=0, duration=0.1, api=call.api, offered=True, arguments=arguments)
        self.calls[trial].append(answer.model_copy(update={"response": {"in": arguments["city"]}}))

    async def close_trial(self, trial: str) -> WireLog:
        return WireLog(trial=trial, opened_at=datetime.now(UTC), api_calls=tuple(self.calls[trial]))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(str(tmp_path / "store.db")) as opened:
        opened.create_run(run_of(run_config(query_ids=(1, "b", 3)), status="running"))
        yield opened


async def make(store: Store, server: Server, note: Callable[[str], None] = lambda _text: None) -> None:
    control = cast("ControlClient", server)
    await make_gold_calls(store, "r", control, "mini", (BARE, GIVEN, NOTHING), concurrency=2, note=note)


async def test_each_query_is_answered_once_by_its_arguments_or_the_defaults(store: Store) -> None:
    server = Server()
    await make(store, server)
    await make(store, server)
    kept = store.gold_answers("r")
    assert {query_id: answer.responses for query_id, answer in kept.items()} == {
        1: ({"in": "Bern"},),
        "b": ({"in": "Basel"},) * 2,
    }
    assert all(answer.seconds >= 0 for answer in kept.values())
    assert len(server.calls) == 2
    assert server.simulators == {"mini"}


async def test_a_query_whose_calls_do_not_arrive_is_named_and_made_up_for_later(store: Store) -> None:
    notes: list[str] = []
    await make(store, Server(failing="Bern"), notes.append)
    assert notes == ["the expected calls of task 1 were not made: the server is gone"]
    assert set(store.gold_answers("r")) == {"b"}
    await make(store, Server())
    assert set(store.gold_answers("r")) == {1, "b"}


def test_what_failed_is_no_response() -> None:
    good = ApiCall(started=0, duration=0, api=NOW, offered=True, arguments={}, response="good")
    refused = good.model_copy(update={"error": "unknown city", "response": ""})
    broken = good.model_copy(update={"status": 503})
    assert GoldAnswer(query_id=1, seconds=1, calls=(refused, good, broken)).responses == ("good",)
