"""Tasks and tools of two cities, and what the latest run stored of them."""

from __future__ import annotations

from typing import Any

from trialbed import (
    ApiRefused,
    Task,
    call,
    open_store,
)

PEOPLE = {"Paris": 2_100_000, "Oslo": 700_000}


def population(city: str) -> int:
    """The number of people in a city.

    Args:
        city: its name.
    """
    if city not in PEOPLE:
        raise ApiRefused(f"{city} is not known")
    return PEOPLE[city]


def capital(country: str) -> str:
    """The capital of a country."""
    return {"France": "Paris", "Norway": "Oslo"}[country]


def about(city: str, **more: Any) -> Task:
    asked = call("population", city=city)
    return Task(f"How many live in {city}?", tools=[population], calls=[asked], expect=str(PEOPLE[city]), **more)


def counting(query: str, tools: Any) -> str:
    city = query.split()[-1].strip("?")
    return f"{tools[0].invoke({'city': city})} people"


def trials() -> list[Any]:
    with open_store() as store:
        return list(store.run("latest").trials())


def by_framework(score: str) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    for trial in trials():
        given = trial.score(score)
        found.setdefault(trial.key.framework, []).append(given and given.value)
    return found
