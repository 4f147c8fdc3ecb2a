"""Every path of StableToolBench's decisions, against an endpoint that plays the model."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.judge_endpoint import JudgeEndpoint, shown, vote

from trialbed.answers import read_answer
from trialbed.contracts import STATUS_VALUES, Verdict
from trialbed.errors import JudgeError
from trialbed.model_access import ModelAccess
from trialbed.records import Answer, ApiCall, ApiRef, Query, WireLog
from trialbed_evaluation.judges.stabletoolbench import StableToolBenchJudge
from trialbed_scripted import ModelTurn, Response, say

NOON = datetime(2026, 1, 2, tzinfo=UTC)
CALL = ApiCall(
    started=0,
    duration=0,
    api=ApiRef(category="C", tool_name="weather", api_name="now"),
    offered=True,
    arguments={"city": "Paris"},
    response={"sky": "sunny"},
)
WIRE = WireLog(trial="t", opened_at=NOON, api_calls=(CALL,))
QUERY = Query(query_id=1, text="Weather?", apis=())

EXAMPLE = Path(__file__).parents[5] / "shared" / "data" / "stabletoolbench" / "data_example"


async def judged(
    model: JudgeEndpoint,
    votes: int = 1,
    text: str = "It is sunny.",
    finish: Any = "give_answer",
    *,
    prompts: Path | None = None,
    access: ModelAccess | None = None,
) -> Verdict:
    judge = StableToolBenchJudge(model.endpoint(), votes=votes)
    judge.prompts, judge.model = prompts, access
    try:
        return await judge.judge(QUERY, Answer(final_answer=text, finish=finish), WIRE)
    finally:
        await judge.close()


@pytest.mark.parametrize("second", STATUS_VALUES)
async def test_an_unsure_one_is_looked_at_with_all_steps(model: JudgeEndpoint, second: str) -> None:
    model.gives(vote("Unsure"), vote(second, "now I see"))
    found = await judged(model)
    assert (found.status, found.reason) == (second, "now I see")
    assert [ballot.step for ballot in found.ballots] == ["all steps"]
    steps = shown(model.asked[1])["answer"]
    (root,) = steps["answer_details"]
    call = root["next"][0]["next"][0]
    assert call["message"]["name"] == "now_for_weather"
    assert json.loads(call["message"]["response"]) == {"error": "", "response": {"sky": "sunny"}}
    assert call["next"][0]["message"]["name"] == "Finish"
    assert steps["total_steps"] == 4


@pytest.mark.parametrize(
    ("text", "finish"), [("sunny", None), ("sunny", "give_up_and_restart"), ("", "give_answer"), ("\n", "give_answer")]
)
async def test_the_gates_ask_no_model(model: JudgeEndpoint, text: str, finish: str | None) -> None:
    found = await judged(model, 3, text, finish)
    assert found.votes == ("Unsolved",) * 3
    assert model.asked == []


async def test_votes_are_counted_one_by_one(model: JudgeEndpoint) -> None:
    model.gives(vote("Solved"), vote("Unsure"), vote("Unsure"), vote("Solved"))
    found = await judged(model, 3)
    assert found.votes == ("Solved", "Unsure", "Solved")
    assert (found.status, found.value) == ("Solved", pytest.approx(2.5 / 3))
    assert found.agreement == pytest.approx(2 / 3)
    assert [ballot.seed for ballot in found.ballots] == [7, 8, 9]
    assert [asked["seed"] for asked in model.asked] == [7, 8, 8, 9]


@pytest.mark.parametrize(
    "failures",
    [
        [Response.text("", "text/plain", 429)],
        [Response.text("", "text/plain", 503), Response((), 429, headers={"Retry-After": "0"})],
        [say("It is Solved, I think.")],
        [say('{"reason": "cut of', finish_reason="length")],
        [Response.text("no such response_format", "text/plain", 400)],
    ],
)
async def test_a_passing_fault_costs_no_vote(model: JudgeEndpoint, failures: list[ModelTurn | Response]) -> None:
    model.gives(*failures, vote("Solved"))
    assert (await judged(model, 3)).votes == ("Solved",) * 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Response.text("", "text/plain", 429), "status 429"),
        (Response.text("on fire", "text/plain", 500), "status 500: on fire"),
        (Response.text("", "text/plain", 401), "status 401"),
        (say("Solved"), "in a row from the model cannot be read"),
        (say(None, fields={"refusal": "I won't grade this"}), "the model refused: I won't grade this"),
        (say("", finish_reason="content_filter"), "content filter"),
        (say(""), "in a row from the model cannot be read"),
        (Response.text("<html>", "text/plain"), "no chat completion"),
    ],
)
async def test_a_lasting_fault_is_an_error_and_never_a_verdict(
    model: JudgeEndpoint, reply: ModelTurn | Response, message: str
) -> None:
    model.gives(reply)
    with pytest.raises(JudgeError, match=message):
        await judged(model, 2)
    if "401" in message:  # what an endpoint refuses for good is not asked for again
        assert len(model.asked) == 1


TEMPLATE = """<function>
<name>check_answer_status</name>
<description>
Rules first. Query:
{query}
Answer:
{answer}
as {{JSON}}
</description>
</function>
<function>
<name>parse_answer_status</name>
<description>All of it: {query} / {answer}</description>
</function>"""


@pytest.mark.parametrize("place", ["", "tooleval_gpt-3.5-turbo_default"])
async def test_the_prompts_of_an_installed_copy_are_used(model: JudgeEndpoint, tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(exist_ok=True)
    (folder / "template.txt").write_text(TEMPLATE)
    model.gives(vote("Unsure"), vote("Solved"))
    assert (await judged(model, text="a {query} {answer}", prompts=tmp_path)).status == "Solved"
    first, second = (asked["messages"][-1]["content"] for asked in model.asked)
    finish = json.dumps({"return_type": "give_answer", "final_answer": "a {query} {answer}"})
    assert first == f"\nRules first. Query:\nWeather?\nAnswer:\n{finish}\nas {{JSON}}\n"
    assert second.startswith("All of it: Weather? / {")


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason=f"StableToolBench's data_example is not at {EXAMPLE}")
@pytest.mark.parametrize(("method", "solved"), [("virtual_chatgpt_cot", 2 / 3), ("virtual_chatgpt_dfs", 1.0)])
async def test_the_published_sample_comes_out_as_published(model: JudgeEndpoint, method: str, solved: float) -> None:
    """The recorded verdicts are what the model answers; the recorded answers are what it is asked about."""
    recorded = json.loads((EXAMPLE / f"pass_rate_results/{method}/G1_instruction_{method}.json").read_text())
    answers = json.loads((EXAMPLE / f"model_predictions_converted/{method}/G1_instruction.json").read_text())
    verdicts = {
        row["query"]: [status.rpartition(".")[2] for status in row["is_solved"].values()] for row in recorded.values()
    }
    model.decide = lambda asked: vote(verdicts[shown(asked)["query"]][asked["seed"] - 7])
    judge = StableToolBenchJudge(model.endpoint(), votes=3)
    found = {name: await judge.judge(*example(name, document)) for name, document in answers.items()}
    await judge.close()
    assert {name: list(verdict.votes) for name, verdict in found.items()} == {
        name: verdicts[row["query"]] for name, row in recorded.items()
    }
    assert sum(verdict.value for verdict in found.values()) / len(found) == pytest.approx(solved)


def example(name: str, document: dict[str, Any]) -> tuple[Query, Answer, WireLog]:
    """A converted answer of the sample, as a judge is given it."""
    answer = read_answer(document, {})
    calls = tuple(
        ApiCall(
            started=0,
            duration=0,
            api=ApiRef(
                category="", tool_name=call.name.rpartition("_for_")[2], api_name=call.name.rpartition("_for_")[0]
            ),
            offered=True,
            arguments=call.arguments,
            response=call.response,
        )
        for call in answer.calls
    )
    text = json.loads(answer.final_answer)["final_answer"] if answer.final_answer else ""
    query = Query(query_id=name, text=document["query"], apis=())
    said = answer.model_copy(update={"final_answer": text})
    return query, said, WireLog(trial=name, opened_at=NOON, api_calls=calls)
