"""The words of pages: in their order, and beside the figures that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.page_words import words
from support.stored_runs import NEW, OLD, trial

from trialbed.store import Store

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
FAILED = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=%22a%2Fb%22"


def follow_each_other(text: str, *parts: str) -> None:
    """Check that a text has these parts, one after the other."""
    for part in parts:
        assert part in text, part
        text = text.partition(part)[2]


async def test_the_list_counts_trials_without_a_failure_and_those_that_failed(get: Any) -> None:
    text = words((await get("/")).text)
    newest, older = text[text.index(NEW) : text.index(OLD)], text[text.index(OLD) :]
    assert "finished 3 of 4 without failure 1 failed" in newest
    assert "finished 2 of 2 without failure reference" in older


async def test_queries_that_fit_are_counted_beside_all(get: Any) -> None:
    assert "1\N{EN DASH}2 of 2 tasks" in words((await get(f"/runs/{NEW}/queries")).text)
    assert "1\N{EN DASH}1 of 1 task (of 2)" in words((await get(f"/runs/{NEW}/queries?show=failed")).text)


async def test_a_trial_says_how_it_ended_and_which_attempt_it_is(get: Any, stored: Path) -> None:
    failed = trial("langgraph:native", "a/b", wrong=True)
    with Store.open(str(stored)) as store:
        store.add_trial(NEW, failed.model_copy(update={"attempt": 1}))
    for attempt in (0, 1):
        text = words((await get(f"{FAILED}&attempt={attempt}")).text)
        assert f" failed scripted:gold, seed 7, attempt {attempt} of 0 , 1 " in text


async def test_a_trial_is_told_from_its_conclusion_to_its_scores(get: Any) -> None:
    follow_each_other(
        words((await get(TRIAL)).text),
        "langgraph:native on task 1 The task is not solved: it lacks 21. answered scripted:gold, seed 7",
        "What went wrong call 1 : Weather/now was refused: 'city' is a required property sent {} answer : Unsolved",
        "The dataset is out of reach, or was edited since the run",
        "What the server saw Request 1 to the model at 0.100 s, took 0.100 s, status 200, 50 + 10 tokens user How warm",
        "1 tool on offer weather_now model asks for weather_now {} raw request",
        "Call 1: Weather/now at 0.300 s, took 0.100 s arguments {} refused 'city' is a required property",
        "1 message as before assistant asks for weather_now {} tool no city model long",
        "Answer finished with an answer ???[2Jcleared",
        "What the agent claims weather_now Who waited for whom",
        "1.000 s: model 0.500, tools 0.100, framework 0.400",
        "Scores score value based on solved 0 Unsolved: it lacks 21 right tools 1 details",
        "1 count or time tokens 120",
    )


async def test_a_failed_trial_has_its_failure_in_place_of_an_answer_and_scores(get: Any) -> None:
    follow_each_other(
        words((await get(FAILED)).text),
        "The trial failed: ValueError: ",
        "What went wrong trial : failed (agent): ValueError: ",
        "Answer The agent gave no answer.",
        "What the agent claims It does not report its calls.",
        "Scores None, as the trial failed or was not measured.",
    )


async def test_differences_stand_with_their_interval_queries_and_verdict(get: Any) -> None:
    follow_each_other(
        words((await get(f"/runs/{NEW}")).text),
        "compared with reference difference changed p verdict",
        "solved langgraph:native -1.00 [-1.00, +0.32] 2 of 2 1.000 too few (8)",
        "right tools langgraph:native -0.50 [-0.91, +0.49] 1 of 2 1.000 too few (20)",
        "too few: too few tasks to tell",
    )


async def test_each_query_has_a_sign_for_each_framework_and_the_kind_of_its_failure(get: Any) -> None:
    follow_each_other(
        words((await get(f"/runs/{NEW}/queries")).text),
        "the mean over repeats. \N{CHECK MARK} 1, \N{CIRCLE WITH LEFT HALF BLACK} between, \N{BALLOT X} 0,",
        "task reference langgraph: native 1 \N{CHECK MARK} \N{BALLOT X}",
        "a/b \N{CHECK MARK} \N{BALLOT X} error in the agent",
    )


async def test_a_raw_request_is_the_text_that_was_sent(get: Any) -> None:
    answer = await get(f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=1")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith('{"messages": [{"role": "user", "content": "How warm is it?"}]')
