"""The page of a trial: its first sentence, each fault once, the wire, and the commands to copy."""

from __future__ import annotations

import html
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.page_words import words
from support.stored_runs import API, NEW, make_hostile_store, trial

from trialbed.records import Answer, AttributedCall, GoldCall, Score, SentCall, ToolSpec, TrialResult
from trialbed.store import Store, open_store
from trialbed_pages import create_app
from trialbed_pages.runs import TrialPage

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
FAILED = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=%22a%2Fb%22"


def follow_each_other(text: str, *parts: str) -> None:
    """Check that a text has these parts, one after the other."""
    for part in parts:
        assert part in text, part
        text = text.partition(part)[2]


def page_of(stored: Path, one: TrialResult, run_id: str = NEW, **config: Any) -> TrialPage:
    """Return the page of a trial that is added to a run, or to a copy of it with other settings."""
    with Store.open(str(stored)) as store:
        if run_id != NEW:
            with open_store(str(stored)) as reader:
                old = reader.run(NEW).record
            changed = {"run_id": run_id, "config": old.config.model_copy(update=config)}
            store.create_run(old.model_copy(update=changed))
        tool = ToolSpec(name="weather_now", description="", parameters={}, api=API)
        store.add_selections(run_id, {one.key.query_id: (tool,)}, 120)
        store.add_trial(run_id, one)
    with open_store(str(stored)) as reader:
        run = reader.run(run_id)
        page = TrialPage(run, run.trial(one.key.framework, one.key.query_id, one.key.repeat), None)
        _ = page.further, page.attempts, page.conversation  # all that reads the store
        return page


async def test_a_trial_is_told_from_its_conclusion_to_its_scores_and_each_fault_once(get: Any) -> None:
    text = words((await get(TRIAL)).text)
    follow_each_other(
        text,
        "langgraph:native on task 1 The task is not solved: it lacks 21. answered scripted:gold, seed 7",
        "What went wrong call 1 : Weather/now was refused: 'city' is a required property sent {}",
        "The dataset is out of reach, or was edited since the run",
        "What the server saw Request 1 to the model at 0.100 s, took 0.100 s, status 200, 50 + 10 tokens user How warm",
        "1 tool on offer weather_now model asks for weather_now {} raw request",
        "Call 1: Weather/now at 0.300 s, took 0.100 s arguments {} refused 'city' is a required property",
        "put to the model's endpoint in another dialect: messages",
        "1 message as before assistant asks for weather_now {} tool no city model long",
        "Answer finished with an answer ???[2Jcleared",
        "What the agent claims weather_now Who waited for whom",
        "1.000 s: model 0.500, tools 0.100, framework 0.400",
        "Scores score value based on solved 0 Unsolved right tools 1 details",
        "1 count or time tokens 120",
    )
    assert text.count("it lacks 21") == 1
    failed = words((await get(FAILED)).text)
    follow_each_other(
        failed,
        "The trial failed: ValueError: ",
        "What went wrong call 1",
        "Answer The agent gave no answer.",
        "What the agent claims It does not report its calls.",
        "Scores None, as the trial failed or was not measured.",
    )
    assert failed.count("ValueError") == 1
    right = words((await get(TRIAL.replace("langgraph%3Anative", "reference"))).text)
    assert "The task is solved. answered" in right
    assert "it lacks" not in right.partition("Scores")[0]


async def test_a_lost_call_is_shown_with_what_was_sent_and_expected_and_not_told_again(stored: Path, get: Any) -> None:
    made = trial("reference", 100, wrong=True)
    gold = GoldCall(api=made.wire.api_calls[0].api, arguments={"city": "Ulm"})
    reason = "'city' is a required property"
    lost = AttributedCall(gold=gold, lost="wrong arguments", reason=reason)
    page = page_of(stored, made.model_copy(update={"gold_calls": (lost,)}))
    assert page.fault is not None
    assert (page.fault.by, page.fault.reason, page.fault.request, page.fault.after) == ("model", reason, 1, 2)
    assert page.further == []
    made = made.model_copy(update={"gold_calls": (lost.model_copy(update={"reason": "another"}),)})
    page = page_of(stored, made.model_copy(update={"key": made.key.model_copy(update={"query_id": 101})}))
    assert [one.where for one in page.further] == ["call 1"]


CONCLUSIONS = {
    ("Solved", 1.0): (True, "The task is solved."),
    ("Solved", 2 / 3): (True, "The task is solved."),
    ("Unsolved", 1 / 3): (False, "The task is not solved: it lacks 21."),
    ("Unsolved", 0.0): (False, "The task is not solved: it lacks 21."),
    ("Unsure", 0.5): (False, "It is unsure whether the task is solved: it lacks 21."),
}
"""The label, which is that of most votes, and their mean."""


@pytest.mark.parametrize(("verdict", "said"), CONCLUSIONS.items())
def test_the_first_sentence_says_what_most_votes_say(
    stored: Path, verdict: tuple[str, float], said: tuple[bool, str]
) -> None:
    score = Score(name="sopr_score", value=verdict[1], label=verdict[0], detail={"reason": "it lacks 21"})
    page = page_of(stored, trial("reference", 100, wrong=False).model_copy(update={"scores": (score,)}))
    assert (page.is_solved, page.conclusion) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [("Paris.", "It answered; there is no verdict."), (" \n", "It ended without an answer; there is no verdict.")],
)
def test_without_a_verdict_it_says_whether_there_is_an_answer(stored: Path, text: str, said: str) -> None:
    made = trial("reference", 100, wrong=False)
    outcome = made.outcome.model_copy(update={"answer": Answer(final_answer=text)})
    assert page_of(stored, made.model_copy(update={"outcome": outcome, "scores": ()})).conclusion == said


def test_if_expectations_alone_are_not_met_it_says_what_first_went_wrong(stored: Path) -> None:
    detail = {"reason": "2 of 2 expectations are not met: no; no", "method": "expectations"}
    score = Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)
    made = trial("reference", 100, wrong=False)
    (first, *others) = made.wire.model_calls
    sent = SentCall(name="find_order", arguments="{", problem="invalid json")
    wire = made.wire.model_copy(update={"model_calls": (first.model_copy(update={"tool_calls": (sent,)}), *others)})
    assert page_of(stored, made.model_copy(update={"scores": (score,), "wire": wire})).conclusion == (
        "The task is not solved: 2 of 2 expectations are not met; request 1: the model's call of find_order could "
        "not be made: invalid JSON."
    )


@pytest.mark.parametrize(("early", "first"), [(0.0, 0.1), (0.25, 0.35), (0.6, 0.5)])
def test_no_exchange_is_drawn_after_the_end_of_an_agent_whose_beginning_was_noted_too_early(
    stored: Path, early: float, first: float
) -> None:
    made = trial("reference", 100, wrong=False)
    outcome = made.outcome.model_copy(update={"started_at": made.wire.opened_at - timedelta(seconds=early)})
    page = page_of(stored, made.model_copy(update={"outcome": outcome}))
    assert page.timeline.length == outcome.wall_time == 1.0
    assert page.exchanges[0].at == pytest.approx(first)


async def test_it_says_how_it_ended_and_which_attempt_it_is(get: Any, stored: Path) -> None:
    failed = trial("langgraph:native", "a/b", wrong=True)
    with Store.open(str(stored)) as store:
        store.add_trial(NEW, failed.model_copy(update={"attempt": 1}))
    for attempt in (0, 1):
        text = words((await get(f"{FAILED}&attempt={attempt}")).text)
        assert f" failed scripted:gold, seed 7, attempt {attempt} of 0 , 1 " in text


async def test_problems_lead_to_their_places(get: Any) -> None:
    assert '<a href="#call-1">call 1</a>' in (await get(TRIAL)).text
    assert 'id="call-1"' in (await get(TRIAL)).text


async def test_a_raw_request_is_the_text_that_was_sent(get: Any) -> None:
    answer = await get(f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=1")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith('{"messages": [{"role": "user", "content": "How warm is it?"}]')


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "bench run -f reference -d "),
        ({"dataset": ".trialbed/tasks/desk-aa.json", "dataset_file": "desk.py"}, " -d desk.py --query-id 1 "),
        ({"timeout": 0.5, "max_steps": 3, "max_tokens": None}, " --max-steps 3 --timeout 0.5"),
        ({"query_ids": ("1; touch $(pwned) 'x'",)}, "--query-id '1; touch $(pwned) '\"'\"'x'\"'\"''"),
    ],
)
def test_the_command_runs_a_trial_again_with_its_settings_and_each_value_is_one_word(
    stored: Path, settings: dict[str, Any], said: str
) -> None:
    made = trial("reference", *settings.get("query_ids", (1,)), wrong=False)
    command = str(page_of(stored, made, "copied", **settings).run_command)
    assert said in command
    assert shlex.split(command)[:2] == ["bench", "run"]
    assert "\n" not in command


async def test_options_of_a_command_do_not_break_and_their_values_are_text(get: Any) -> None:
    page = (await get(TRIAL)).text
    assert '<span class="option">-f</span> langgraph:native <span class="option">-d</span>' in page
    assert f"bench show {NEW} langgraph:native/1" in page


async def test_a_trial_that_met_injected_faults_names_them_and_is_run_again_with_them(stored: Path, get: Any) -> None:
    plan = '{"model": {"rate": 0.5}}'
    made = trial("reference", 1, wrong=False)
    requests = tuple(one.model_copy(update={"fault": "rate_limit"}) for one in made.wire.model_calls)
    wire = made.wire.model_copy(update={"model_calls": requests})
    page_of(stored, made.model_copy(update={"wire": wire}), "faulty", faults=plan)
    shown = (await get("/runs/faulty/trial?framework=reference&query=1")).text
    assert shown.count("injected fault: rate limit") == len(requests) > 0
    assert f"--faults {shlex.quote(plan)}" in html.unescape(re.sub("<[^>]*>", "", shown))


async def test_the_command_says_if_it_may_name_another_task(tmp_path: Path, clients: Any) -> None:
    path = tmp_path / "trialbed.db"
    dataset = make_hostile_store(path, "Weather in Lima?") / "queries.json"
    with Store.open(str(path)) as store, open_store(str(path)) as reader:
        old = reader.run(NEW).record
        config = old.config.model_copy(update={"dataset": str(dataset), "dataset_file": "desk.py"})
        store.create_run(old.model_copy(update={"run_id": "copied", "config": config}))
        store.add_trial("copied", reader.run(NEW).trials()[0])

    async def page(name: str) -> str:
        async with clients(create_app(str(path), tmp_path)) as client:
            address = re.findall(r'href="([^"]*/trial\?[^"]*)"', (await client.get(f"/runs/{name}")).text)[0]
            found: str = (await client.get(html.unescape(address))).text
            return found

    for place in ("Lima?", "Rome?"):
        dataset.write_text(dataset.read_text("utf-8").replace("Lima?", place), "utf-8")
        shown = await page(NEW)
        assert ("bench run" in shown, "may name another task now" in shown) == (True, place == "Rome?")
        dataset.write_text(dataset.read_text("utf-8").replace("Rome?", "Lima?"), "utf-8")
    noted = "It reads <code>desk.py</code> as it is now"
    assert (noted in await page("copied"), noted in await page(NEW)) == (True, False)
