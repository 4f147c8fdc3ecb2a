"""``evaluate``: tools, worlds and simulators of this program."""

from __future__ import annotations

from typing import Any

import pytest
from support.evaluation import PEOPLE, about, by_framework, counting, trials

from trialbed import (
    Api,
    ApiRefused,
    Query,
    Simulation,
    Simulator,
    Task,
    ToolSelector,
    World,
    call,
    evaluate,
    open_store,
)
from trialbed.errors import NothingMeasured, UsageError


def test_a_tool_that_raises_is_no_fault_of_the_agent() -> None:
    def broken(city: str) -> int:
        """The number of people in a city."""
        raise KeyError(city)

    def trying(query: str, tools: Any) -> str:
        return str(tools[0].invoke({"city": "Paris"}))

    with pytest.raises(NothingMeasured, match=r"because of a tool: broken raised KeyError: 'Paris'"):
        evaluate(trying, [Task("How many?", tools=[broken])])


def test_one_broken_tool_leaves_the_run_incomplete_and_says_where() -> None:
    def sometimes(city: str) -> int:
        """The number of people in a city."""
        return {"Paris": 1}[city]

    tasks = [Task(f"{city}?", tools=[sometimes]) for city in PEOPLE]
    evaluate({"mine": lambda query, tools: str(tools[0].invoke({"city": query[:-1]}))}, tasks)
    with open_store() as store:
        run = store.run("latest")
        failures = {trial.key.query_id: trial.failure for trial in run.trials()}
        assert run.status == "incomplete"
    assert failures[1] is None
    assert failures[2].kind == "tool"
    assert failures[2].message.startswith(f"sometimes raised KeyError: 'Oslo' (File \"{__file__}\", line ")
    assert "in sometimes" in failures[2].detail


def test_each_trial_has_an_object_of_a_class_of_tools_whose_state_counts() -> None:
    class Desk:
        def __init__(self, state: Any) -> None:
            self.seats = dict(state)

        def book(self, seat: str, name: str) -> str:
            """Book a seat."""
            if self.seats[seat]:
                raise ApiRefused(f"{seat} is taken")
            self.seats[seat] = name
            return "booked"

        def state(self) -> Any:
            return self.seats

    task = Task(
        "Book 1A for Ann.",
        tools=Desk,
        calls=[call("book", seat="1A", name="Ann")],
        state={"1A": "", "1B": "Bob"},
        final_state={"1A": "Ann", "1B": "Bob"},
    )
    evaluate("reference", [task], repeat=2)
    assert by_framework("final_state") == {"reference": [1.0, 1.0]}


def test_a_world_of_a_simulator_that_is_an_object_is_a_trials_own() -> None:
    class Count(World):
        def __init__(self) -> None:
            self.count = 0

        def call(self, api: Api, arguments: Any) -> int:
            self.count += 1
            return self.count

        def state(self) -> int:
            return self.count

    class Counter(Simulator):
        provenance = "counter"

        def world(self) -> World:
            return Count()

        async def simulate(self, api: Api | None, ref: str, arguments: Any) -> Simulation:
            raise AssertionError

    api = Api(category="Counts", tool_name="Count", api_name="up")
    task = Task("Count.", tools=[api], calls=["up"], final_state=1)
    evaluate("reference", [task], simulator=Counter(), repeat=2)
    assert by_framework("final_state") == {"reference": [1.0, 1.0]}


def test_gold_calls_of_functions_are_not_made_apart() -> None:
    with pytest.raises(UsageError, match="gold_answers: the expected calls of tools that are functions"):
        evaluate(counting, [about("Paris")], gold_answers=True)


def test_judges_selectors_and_simulators_are_plain_objects() -> None:
    class First(ToolSelector):
        needs_catalog = False

        def select(self, query: Query, *, max_tools: int) -> Any:
            return [query.apis[0].ref]

    class Weather(Simulator):
        provenance = "weather"

        async def simulate(self, api: Api | None, ref: str, arguments: Any) -> Simulation:
            return Simulation(response=f"sunny in {arguments['city']}")

    def polite(query: Query, answer: Any, wire: Any) -> bool:
        return answer.final_answer.startswith("Please")

    apis = [Api(category="Weather", tool_name="Sky", api_name=name) for name in ("now", "later")]

    def asking(query: str, tools: Any) -> str:
        return f"Please: {[tool.name for tool in tools]} {tools[0].invoke({'city': 'Oslo'})}"

    evaluate(asking, Task("Weather?", tools=apis), judge=polite, selector=First(), simulator=Weather())
    (trial,) = trials()
    assert trial.outcome.answer.final_answer == "Please: ['Sky_now'] sunny in Oslo"
    assert trial.score("sopr_score").label == "Solved"
    assert trial.wire.api_calls[0].provenance == "weather"
    with open_store() as store:
        config = store.run("latest").config
    assert (config.judge, config.selector) == ("polite", "First")


def test_half_a_character_in_a_task_or_a_result_fails_no_trial() -> None:
    def find(order: int) -> dict[str, str]:
        """Find an order."""
        return {"price": "12.5 \ud83d"}

    evaluate("reference", Task("Order \ud83d 7?", tools=[find], calls=[call("find", order=7)], expect="12.5"))
    assert by_framework("sopr_score") == {"reference": [1.0]}
    assert [done.response for trial in trials() for done in trial.wire.api_calls] == [{"price": "12.5 \ufffd"}]
