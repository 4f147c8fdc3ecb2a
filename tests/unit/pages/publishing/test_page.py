"""The page of published results, from numbers alone."""

from __future__ import annotations

import pytest

from trialbed.views import Table
from trialbed_pages.publishing._board import board_tables, boards, why_apart
from trialbed_pages.publishing._figures import figures_of
from trialbed_pages.publishing._lead import lead_of, names_of, title_of
from trialbed_pages.publishing._numbers import (
    PublishedFinding,
    PublishedFramework,
    PublishedLostCall,
    PublishedMean,
    PublishedQuery,
    RunNumbers,
)
from trialbed_pages.publishing._page import by_repeat, flips, losses_of, parts_of


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


def finding(label: str, verdict: str, kind: str = "reference") -> PublishedFinding:
    return PublishedFinding(
        framework=label,
        kind=kind,
        against="reference",
        score="sopr_score",
        difference=-0.5,
        text="-0.50 [-0.80, -0.10]",
        changed=1,
        n=2,
        p="0.010",
        verdict=verdict,
        causes={},
    )


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
    assert title_of([run()]) == "crewai and the reference loop with local:small on 2 tasks (harbour)"
    first, sure, verdict, words = lead_of(run())
    assert first == (
        "The 2 set-ups solve from 25 % (crewai:native) to 75 % (reference) of 2 tasks, asked 2 times each. "
        "A trial takes 400 tokens on average."
    )
    assert verdict == "Against reference, shown to solve fewer: crewai:native."
    assert sure == (
        "The model alone moves these shares: two repeats of one set-up, where only the seed differs, differ by up to "
        "50 points (2 trials each); the set-ups, by up to 50 points (4 trials each)."
    )
    assert words == "Native: a framework as its own documentation sets it up; reference: Trialbed's own plain loop."


def test_injected_faults_are_named_in_the_title_and_in_the_first_sentences() -> None:
    faulty = run(faults='{"tools": {"rate": 0.25, "faults": ["error"]}}')
    assert title_of([run(), faulty]).endswith("(harbour), with injected faults")
    assert lead_of(faulty)[1] == "Faults were put in on purpose: 25 % of the calls of tools (error)."


def test_a_title_names_several_models_as_one_reads_them_out() -> None:
    runs = [run().model_copy(update={"model": model}) for model in ("small", "large", "huge")]
    assert "with small, large and huge on 2 tasks" in title_of(runs)


def test_comparisons_stand_by_their_scores_and_are_explained_once() -> None:
    found = [
        finding(label, "worse", kind).model_copy(update={"score": score})
        for kind in ("reference", "profile")
        for label in ("a", "b")
        for score in ("sopr_score", "api_call_score")
    ]
    tables = parts_of(run().model_copy(update={"findings": tuple(found)}), figures_of(run()))
    first, second = (one for one in tables if isinstance(one, Table) and "Paired" in one.title)
    assert [row.label for row in first.rows] == [
        "solved: a",
        "solved: b",
        "expected Apis called: a",
        "expected Apis called: b",
    ]
    assert (len(first.notes), len(second.notes)) == (1, 0)


def test_runs_are_named_by_their_models_where_that_is_enough() -> None:
    other = run("second").model_copy(update={"model": "local:large"})
    assert names_of([run()]) == [""]
    assert names_of([run(), other]) == ["local:small", "local:large"]
    assert names_of([run(), run("second")]) == ["local:small, first", "local:small, second"]


def test_too_few_tasks_are_said_to_show_nothing() -> None:
    few = run().model_copy(update={"findings": (finding("crewai:native", "too few (120)"),)})
    first, _, verdict, intervals, _ = lead_of(few)
    assert first.startswith("No set-up is shown to solve more or fewer tasks than reference: the 2 set-ups solve from")
    assert verdict == "Against reference, open: crewai:native [-0.80, -0.10]."
    assert intervals.startswith("In brackets: the 95 % interval of the difference, for further tasks like these")


@pytest.mark.parametrize(
    ("reference", "other", "told"),
    [
        (
            (1.0, 1.0),
            (1.0, 1.0),
            "Solved in every trial: 1 of 2 tasks; in none: 0; all differences come from the other 1.",
        ),
        (
            (0.0, 0.0),
            (0.0, 0.0),
            "Solved in every trial: 0 of 2 tasks; in none: 1; all differences come from the other 1.",
        ),
        ((1.0, 0.0), (1.0, 1.0), ""),
    ],
)
def test_tasks_that_all_set_ups_solve_or_none_does_are_said_to_show_nothing(
    reference: tuple[float, ...], other: tuple[float, ...], told: str
) -> None:
    set_ups = (framework("reference", a=reference, b=(1.0, 0.0)), framework("crewai:native", a=other, b=(0.0, 0.0)))
    sure = lead_of(run().model_copy(update={"frameworks": set_ups}))[1]
    assert sure.endswith(told or " points (4 trials each).")


def test_tasks_of_which_none_distinguishes_set_ups_are_named_so() -> None:
    set_ups = (
        framework("reference", a=(1.0, 1.0), b=(0.0, 0.0)),
        framework("crewai:native", a=(1.0, 1.0), b=(0.0, 0.0)),
    )
    sure = lead_of(run().model_copy(update={"frameworks": set_ups}))[1]
    assert sure == (
        "The model's noise moves none of these shares: the repeats of each set-up agree. Solved in every trial: 1 of 2 "
        "tasks; in none: 1; none is left that could show a difference."
    )


def test_equal_set_ups_are_said_to_be_so_as_far_as_that_is_shown() -> None:
    found = (finding("crewai:native", "equivalent"), finding("agno:native", "identical"))
    assert lead_of(run().model_copy(update={"findings": found}))[2] == (
        "Against reference, within 10 points: crewai:native; the same on every task asked, which leaves [-0.80, -0.10] "
        "possible: agno:native."
    )


def test_the_causes_of_single_lower_tasks_do_not_say_that_the_whole_is_lower() -> None:
    causes = {"it asked for other calls": 1, "a limit ended the run": 2}
    better = finding("crewai:native", "better", "profile").model_copy(update={"causes": causes})
    own = run().model_copy(update={"findings": (better,)})
    table = next(part for part in parts_of(own, figures_of(own)) if "Paired" in part.title)
    assert isinstance(table, Table)
    assert table.notes[-1] == (
        "Where crewai:native is lower in a task than its controlled profile, by any score: "
        "it asked for other calls (1 task); a limit ended the run (2 tasks)."
    )


def test_set_ups_with_the_same_conclusion_share_a_sentence() -> None:
    text = " solves 38 % of 30 queries; 33 of its 49 lost calls were not asked for by the model."
    same = [one.model_copy(update={"conclusion": one.label + text}) for one in run().frameworks]
    part = parts_of(run().model_copy(update={"frameworks": tuple(same)}), figures_of(run()))[0]
    assert isinstance(part, Table)
    assert list(part.notes)[1:] == [
        "reference and crewai:native each solve 38 % of 30 tasks; 33 of each one's 49 lost calls were not asked for "
        "by the model."
    ]
    assert "95 % interval" in part.notes[0]


def test_noise_is_what_repeats_of_one_set_up_differ_by() -> None:
    reference = run().frameworks[0]
    assert flips(reference) == 1
    assert by_repeat(reference, 2) == [1.0, 0.5]
    table = next(part for part in parts_of(run(), figures_of(run())) if "noise" in part.title)
    assert isinstance(table, Table)
    assert table.rows[0].cells == ("100.0 %", "50.0 %", "50 points", "1 of 2")


def test_every_lost_call_is_named_with_its_reason_and_tokens_are_told_for_each_solved_task() -> None:
    assert [record["reason"] for record in losses_of([run()])] == ["the model did not ask"] * 2
    table = next(part for part in parts_of(run(), figures_of(run())) if "costs in tokens" in part.title)
    assert isinstance(table, Table)
    assert [row.cells[-1] for row in table.rows] == ["533", "1,600"]


def lost_calls(**changed: object) -> Table | None:
    """The table of lost calls of a run of which nothing was lost but the second task, if it states its calls."""
    second = PublishedQuery(query="b", text="Task b?", tools=3, calls=0).model_copy(update=changed)
    frameworks = [one.model_copy(update={"gold_calls": {"used": 3}, "lost": ()}) for one in run().frameworks]
    shown = run().model_copy(update={"queries": (run().queries[0], second), "frameworks": tuple(frameworks)})
    found = (part for part in parts_of(shown, figures_of(shown)) if "calls were lost" in part.title)
    return next((part for part in found if isinstance(part, Table)), None)


def test_unsolved_tasks_that_expect_no_call_are_counted_where_no_call_was_lost() -> None:
    table = lost_calls()
    assert table is not None
    assert table.columns[-1] == "unsolved without an expected call"
    assert [row.cells[-1] for row in table.rows] == ["0", "1"]
    assert lost_calls(states_calls=False) is None, "a task that does not say which calls solve it expects not none"


def test_the_numbers_of_a_task_that_states_its_calls_are_as_ever() -> None:
    assert PublishedQuery(query="a", text="?", tools=1, calls=0).model_dump().keys() == {
        "query",
        "text",
        "tools",
        "calls",
    }
    other = PublishedQuery(query="a", text="?", tools=1, calls=0, states_calls=False)
    assert PublishedQuery.model_validate_json(other.model_dump_json()) == other


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (run(dataset="d2"), "its tasks are others: harbour d2, not harbour d1"),
        (run().model_copy(update={"queries": run().queries[:1]}), "its tasks are 1 of the dataset, not 2"),
        (
            run().model_copy(
                update={"queries": tuple(PublishedQuery(query=one, text="?", tools=3, calls=1) for one in "bc")}
            ),
            "its tasks are 2 of the dataset, other ones",
        ),
        (run().model_copy(update={"queries": run().queries[::-1]}), ""),
        (run(faults="{}"), "it has injected faults"),
        (run(judge="gpt"), "its judge is gpt, not rule"),
        (run(temperature=0.3), "its temperature is 0.3, not the usual one"),
        (run(seed=7), ""),
        (run().model_copy(update={"model": "local:large"}), ""),
    ],
)
def test_runs_stand_on_one_board_only_where_their_settings_allow_it(other: RunNumbers, why: str) -> None:
    assert why_apart(run(), other) == why


def test_runs_that_cannot_be_compared_get_boards_of_their_own_which_say_why() -> None:
    runs = [run(), run("second"), run("third", max_steps=3)]
    assert [[one.name for one in group] for group in boards(runs)] == [["first", "second"], ["third"]]
    one, other = board_tables(runs)
    assert [row.cells[1] for row in one.rows] == ["first", "second"] * 2
    assert (
        other.notes[-1] == "Leaderboard 2 has not the run of local:small, first: its max steps is the usual one, not 3."
    )
    assert list(board_tables([run()])) == []
