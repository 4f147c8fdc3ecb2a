"""``evaluate``: tools, worlds and simulators of this program."""

from __future__ import annotations

from typing import Any

import pytest
from support.evaluation import by_framework, trials

from trialbed import (
    Api,
    ApiRefused,
    Query,
    Simulation,
    Simulator,
    Task,
    ToolSelector,
    call,
    evaluate,
    open_store,
)
from trialbed.errors import NothingMeasured


def test_a_tool_that_raises_is_no_fault_of_the_agent() -> None:
    def broken(city: str) -> int:
        """The number of people in a city."""
        raise KeyError(city)

    def trying(query: str, tools: Any) -> str:
        return str(tools[0].invoke({"city": "Paris"}))

    with pytest.raises(NothingMeasured, match=r"because of a tool: broken raised KeyError: 'Paris'"):
        evaluate(trying, [Task("How many?", tools=[broken])])


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
