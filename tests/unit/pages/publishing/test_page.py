"""The page of published results, from numbers alone."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.views import Table
from trialbed_pages.publishing._numbers import (
    PublishedFinding,
    PublishedFramework,
    PublishedLostCall,
    PublishedMean,
    PublishedQuery,
    RunNumbers,
)
from trialbed_pages.publishing._page import board_tables, figures_of, lead_of, names_of, parts_of, title_of, why_apart


def framework(label: str, **solved: tuple[float, ...]) -> PublishedFramework:
    """A set-up with the verdicts of its repeats, by task."""
    values = [value for own in solved.values() for value in own]
    return PublishedFramework(
        label=label,
        version="1.0",
        conclusion=f"{label} does it.",
        trials=len(values),
        failures={},
        scores={
            "sopr_score": PublishedMean(value=sum(values) / len(values), low=0.1, high=0.9, n=len(values)),
            "total_tokens": PublishedMean(value=400.0, n=len(values)),
        },
        prompt_tokens=300 * len(values),
        completion_tokens=100 * len(values),
        requests=2 * len(values),
        gold_calls={"not called": 1, "used": 3},
        lost=(
            PublishedLostCall(
                query="a", repeat=1, call="shop: find", stage="not called", reason="the model did not ask"
            ),
        ),
        solved=solved,
    )


def finding(label: str, verdict: str, kind: str = "reference", **more: Any) -> PublishedFinding:
    return PublishedFinding(
        framework=label,
        kind=kind,
        against="reference",
        score="sopr_score",
        difference=-0.5,
        low=-0.8,
        high=-0.1,
        text="-0.50 [-0.80, -0.10]",
        changed=1,
        n=2,
        p="0.010",
        verdict=verdict,
    ).model_copy(update=more)


def run(name: str = "first", *, dataset: str = "d1", judge: str = "rule", **settings: object) -> RunNumbers:
    return RunNumbers(
        name=name,
        model="local:small",
        dataset="harbour",
        dataset_digest=dataset,
        judge=judge,
        repeat=2,
        margin=0.1,
        settings=settings,
        queries=tuple(PublishedQuery(query=one, text=f"Task {one}?", tools=3, calls=1) for one in "ab"),
        frameworks=(
            framework("reference", a=(1.0, 0.0), b=(1.0, 1.0)),
            framework("crewai:native", a=(0.0, 0.0), b=(1.0, 0.0)),
        ),
        findings=(finding("crewai:native", "worse"),),
    )


def test_the_title_says_what_was_compared_and_the_first_sentences_what_came_out() -> None:
    assert title_of([run()]) == "crewai and the plain loop with local:small on 2 tasks of harbour"
    assert lead_of(run()) == [
        "crewai:native is shown to solve fewer tasks than reference. The 2 setups solve 25 % to 75 % of 2 tasks, "
        "asked 2 times each. A trial takes 400 tokens on average.",
        "native: as its documentation sets it up.",
    ]


@pytest.mark.parametrize("verdict", ["too few (120)", "identical", "equivalent"])
def test_no_verdict_is_said_to_be_no_difference(verdict: str) -> None:
    first, *_ = lead_of(run().model_copy(update={"findings": (finding("crewai:native", verdict),)}))
    assert first.startswith("No setup is shown to solve more or fewer tasks than reference. The 2 setups solve")


def test_a_run_of_one_setup_has_its_sentences() -> None:
    alone = run().model_copy(update={"frameworks": run().frameworks[:1], "findings": (), "repeat": 1})
    assert lead_of(alone) == ["reference solves 75 % of 2 tasks. A trial takes 400 tokens on average."]
    unknown = alone.frameworks[0].model_copy(update={"scores": {}})
    assert lead_of(alone.model_copy(update={"frameworks": (unknown,)})) == ["No trial has a verdict."]


def costs(found: RunNumbers) -> list[tuple[str, ...]]:
    """The tokens of a trial and of a solved task of each setup."""
    table = next(part for part in parts_of(found, figures_of(found)) if "costs in tokens" in part.title)
    assert isinstance(table, Table)
    places = [place for place, name in enumerate(table.columns[1:]) if "tokens" in name]
    return [tuple(row.cells[place] for place in places) for row in table.rows]


def test_tokens_are_told_for_each_solved_task_and_are_not_zero_if_no_model_reported_them() -> None:
    assert costs(run()) == [("400", "533"), ("400", "1,600")]
    silent = {"prompt_tokens": 0, "completion_tokens": 0}
    setups = [
        one.model_copy(update={**silent, "scores": {"sopr_score": one.scores["sopr_score"]}})
        for one in run().frameworks
    ]
    assert costs(run().model_copy(update={"frameworks": tuple(setups)})) == [("-", "-")] * 2


def test_titles_and_names_tell_runs_apart_by_models_datasets_and_faults() -> None:
    faulty = run(faults='{"tools": {"rate": 0.25, "faults": ["error"]}}')
    assert title_of([run(), faulty]).endswith("of harbour, with injected faults")
    assert lead_of(faulty)[1] == "Faults were put in on purpose: 25 % of the calls of tools (error)."
    runs = [run().model_copy(update={"model": model}) for model in ("small", "large", "huge")]
    assert "with small, large and huge on 2 tasks" in title_of(runs)
    other = run("second").model_copy(update={"model": "local:large"})
    elsewhere = run("third").model_copy(update={"dataset": "shop"})
    assert names_of([run()]) == [""]
    assert names_of([run(), other]) == ["local:small", "local:large"]
    assert names_of([run(), elsewhere]) == ["local:small on harbour", "local:small on shop"]
    assert names_of([run(), run("second")]) == ["local:small, first", "local:small, second"]


def test_comparisons_stand_by_their_scores_and_are_explained_once() -> None:
    found = [
        finding(label, "worse", kind).model_copy(update={"score": score})
        for kind in ("reference", "profile")
        for label in ("a", "b")
        for score in ("sopr_score", "api_call_score")
    ]
    found.append(finding("c", "identical"))
    tables = parts_of(run().model_copy(update={"findings": tuple(found)}), figures_of(run()))
    first, second = (one for one in tables if isinstance(one, Table) and "Paired" in one.title)
    assert [row.label for row in first.rows] == [
        "solved: a",
        "solved: b",
        "right tools: a",
        "right tools: b",
    ]
    assert first.notes[0] == "The same on every task in solved: c."
    assert (len(first.notes), len(second.notes)) == (2, 0)


def test_conversations_have_a_table_of_what_is_kept_and_what_turns_cost() -> None:
    talk = {"history_kept": PublishedMean(value=0.5, low=0.1, high=0.9, n=2)}
    talk |= {"tokens_at_turn_10": PublishedMean(value=1200.0, n=2), "remembered": PublishedMean(value=None)}
    reference, crewai = run().frameworks
    found = run().model_copy(update={"frameworks": (reference, crewai.model_copy(update={"scores": talk}))})
    tables = [one for one in parts_of(found, figures_of(found)) if isinstance(one, Table)]
    table = next(one for one in tables if "conversation" in one.title)
    assert table.columns == ("", "history kept", "remembered", "turn 10")
    assert [row.cells for row in table.rows] == [("-", "-", "-"), ("0.50 [0.10, 0.90]", "-", "1,200")]
    assert not any("conversation" in part.title for part in parts_of(run(), figures_of(run())))


def test_setups_with_equal_requests_are_named_as_one_measurement() -> None:
    names = ("a:controlled", "b:controlled", "c:controlled")
    controlled = [framework(name, a=(1.0, 1.0), b=(0.0, 0.0)) for name in names]
    reference = run().frameworks[0]

    def words(*digests: str) -> str:
        own = [
            one.model_copy(update={"requests_digest": digest}) for one, digest in zip(controlled, digests, strict=True)
        ]
        return lead_of(run().model_copy(update={"frameworks": (reference, *own)}))[1]

    told = "sent equal requests and got the same answers: count them as one measurement."
    assert words("x", "x", "x") == f"The 3 controlled setups {told}"
    assert words("x", "y", "x") == f"a:controlled and c:controlled {told}"
    assert told not in words("x", "y", "")
    controlled[0] = controlled[0].model_copy(update={"completion_tokens": 401})
    assert words("x", "x", "x") == f"b:controlled and c:controlled {told}"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (run(dataset="d2"), "its dataset is harbour d2, not harbour d1"),
        (run().model_copy(update={"queries": run().queries[:1]}), "its tasks are not the same"),
        (
            run().model_copy(
                update={"queries": tuple(PublishedQuery(query=one, text="?", tools=3, calls=1) for one in "bc")}
            ),
            "its tasks are not the same",
        ),
        (run().model_copy(update={"queries": run().queries[::-1]}), ""),
        (run(faults="{}"), "its injected faults are not the same"),
        (run(judge="gpt"), "its judge is gpt, not rule"),
        (run(temperature=0.3), "its temperature is 0.3, not the usual one"),
        (run(seed=7), ""),
        (run().model_copy(update={"model": "local:large"}), ""),
    ],
)
def test_runs_stand_on_one_board_only_where_their_settings_allow_it(other: RunNumbers, why: str) -> None:
    assert why_apart(run(), other) == why


def test_a_run_that_cannot_be_compared_with_the_first_is_not_on_its_board_which_says_why() -> None:
    (board,) = board_tables([run(), run("second"), run("third", max_steps=3)])
    assert [row.cells[1] for row in board.rows] == ["first", "second"] * 2
    assert (
        board.notes[-1]
        == "The leaderboard has not the run of local:small, third: its max steps is 3, not the usual one."
    )
    assert list(board_tables([run()])) == []
