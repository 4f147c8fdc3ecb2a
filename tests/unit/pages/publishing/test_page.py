"""The page of published results, from numbers alone."""

from __future__ import annotations

from typing import Any

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
    assert title_of([run()]) == "crewai and the reference loop with local:small on 2 tasks of the dataset harbour"
    first, words, tasks, proven, sure, advice = lead_of(run())
    assert first == (
        "Compared with reference, Trialbed's own plain loop, these are shown to solve fewer tasks: crewai:native. "
        "The 2 set-ups solve from 25 % to 75 % of 2 tasks, asked 2 times each. A trial takes 400 tokens on average."
    )
    assert words == "Native: a framework as its own documentation sets it up."
    assert tasks == (
        "A task offers 3 tools and expects up to 1 call. The most tasks are solved by reference, "
        "the fewest by crewai:native."
    )
    assert proven == "Proven: crewai:native (-80 to -10 points) solves fewer tasks."
    assert sure == (
        "How sure? The model alone moves these shares: two repeats of one set-up, where only the seed differs, "
        "differ by "
        "up to 50 points (2 trials each); the set-ups, by up to 50 points (4 trials each)."
    )
    assert advice.startswith("What to do: before you choose, measure your own model on your own tasks")


def test_a_run_in_which_no_trial_was_answered_has_its_sentences() -> None:
    of_none = [
        one.model_copy(update={"scores": {"sopr_score": PublishedMean(value=value, low=0.0, high=0.2, n=4)}})
        for one, value in zip(run().frameworks, (0.0, 0.25), strict=True)
    ]
    first, *_ = lead_of(run().model_copy(update={"frameworks": tuple(of_none)}))
    assert first.endswith("The 2 set-ups solve from 0 % to 25 % of 2 tasks, asked 2 times each.")


def test_injected_faults_are_named_in_the_title_and_in_the_first_sentences() -> None:
    faulty = run(faults='{"tools": {"rate": 0.25, "faults": ["error"]}}')
    assert title_of([run(), faulty]).endswith("of the dataset harbour, with injected faults")
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
        "expected tools called: a",
        "expected tools called: b",
    ]
    assert (len(first.notes), len(second.notes)) == (1, 0)


def test_runs_are_named_by_their_models_where_that_is_enough() -> None:
    other = run("second").model_copy(update={"model": "local:large"})
    assert names_of([run()]) == [""]
    assert names_of([run(), other]) == ["local:small", "local:large"]
    assert names_of([run(), run("second")]) == ["local:small, first", "local:small, second"]


def test_too_few_tasks_are_said_to_show_nothing() -> None:
    few = run().model_copy(
        update={"findings": (finding("crewai:native", "too few (120)", needed=120, shows="equivalence"),)}
    )
    first, _, tasks, verdict, sure, advice = lead_of(few)
    assert first.startswith(
        "No set-up is shown to solve more or fewer tasks than reference, Trialbed's own plain loop; nor is any shown "
        "to be as good, which this run takes to mean less than 10 points of difference on further tasks too. The 2 "
        "set-ups solve from"
    )
    assert verdict == (
        "Not proven: whether any differs; the 95 % interval of the difference, in points, is -80 to -10 for "
        "crewai:native. About 120 tasks in all would probably show less than 10 points for each of these, if "
        "differences go on as they are."
    )
    assert tasks.endswith("the fewest by crewai:native, which may be chance.")
    assert sure.startswith(
        "How sure? Asked again, with another seed alone, the same set-up's share moves by up to 50 points (2 trials "
        "each), so that the 50 points between the set-ups (4 trials each) may be the model's chance."
    )
    assert advice.startswith("What to do: do not choose between the set-ups by these figures;")


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
    sure = lead_of(run().model_copy(update={"frameworks": set_ups}))[4]
    assert sure.endswith(told or " points (4 trials each).")


def test_tasks_of_which_none_distinguishes_set_ups_are_named_so() -> None:
    set_ups = (
        framework("reference", a=(1.0, 1.0), b=(0.0, 0.0)),
        framework("crewai:native", a=(1.0, 1.0), b=(0.0, 0.0)),
    )
    sure = lead_of(run().model_copy(update={"frameworks": set_ups}))[4]
    assert sure == (
        "How sure? The model's noise moves none of these shares: the repeats of each set-up agree. Solved in every "
        "trial: 1 of 2 "
        "tasks; in none: 1; none is left that could show a difference."
    )


def lead_with(*found: PublishedFinding) -> list[str]:
    return lead_of(run().model_copy(update={"findings": found}))


def test_equal_results_are_no_proof_of_equality_unless_the_interval_is() -> None:
    same = finding("agno:native", "identical", low=-0.11, high=0.11)
    first, _, _, proven, other, *_ = lead_with(same)
    assert "nor is any shown to be as good, which this run takes to mean less than 10 points" in first
    assert proven == "Proven: only that agno:native had the same result as reference in every task asked."
    assert other == (
        "Not proven: that these are equal in further tasks like these, as even 2 tasks without a difference leave up "
        "to 11 "
        "points to either side possible."
    )
    within = finding("crewai:native", "equivalent", low=-0.09, high=0.09)
    first, _, _, proven, other, *_ = lead_with(within, same)
    assert "nor is any shown" not in first
    assert proven == (
        "Proven: crewai:native differs by less than 10 points; agno:native had the same result as reference in "
        "every task "
        "asked."
    )
    both = [within.model_copy(update={"framework": name, "verdict": "identical"}) for name in ("a", "b")]
    _, _, _, proven, sure, *_ = lead_with(*both)
    assert (proven, sure[:8]) == ("Proven: a and b differ by less than 10 points.", "How sure")


def test_a_number_of_tasks_is_said_with_what_it_would_show() -> None:
    text = lead_with(
        finding("a", "too few (40)", needed=40, shows="difference"),
        finding("b", "too few (60)", needed=60, shows="equivalence"),
        finding("c", "too few (90)", needed=90, shows="equivalence"),
    )[3]
    assert "About 40 tasks in all would probably show a difference for each" in text
    assert "About 60 to 90 tasks in all would probably show less than 10 points for each" in text


def test_native_set_ups_whose_figures_are_those_against_the_baseline_are_not_told_twice() -> None:
    same = "Between each native set-up and its own controlled form, the differences and intervals are the same."
    against = finding("crewai:native", "too few")
    assert same in lead_with(against, finding("crewai:native", "too few", "profile"))
    other = lead_with(against, finding("crewai:native", "worse", "profile", text="-0.40 [-0.60, -0.10]"))
    assert same not in other
    assert "Native against controlled. Proven: crewai:native (-80 to -10 points) solves fewer tasks." in other
    same = (finding(f"{name}:native", "identical", "profile", against=f"{name}:controlled", text="0") for name in "ab")
    told = "Proven: only that a:native and b:native had the same result as their own controlled forms in every task"
    assert told in " ".join(lead_with(against, *same))


def test_set_ups_with_equal_requests_are_named_as_one_measurement() -> None:
    names = ("a:controlled", "b:controlled", "c:controlled")
    controlled = [framework(name, a=(1.0, 1.0), b=(0.0, 0.0)) for name in names]
    reference = run().frameworks[0]

    def words(*digests: str) -> str:
        own = [
            one.model_copy(update={"requests_digest": digest}) for one, digest in zip(controlled, digests, strict=True)
        ]
        return lead_of(run().model_copy(update={"frameworks": (reference, *own)}))[2]

    told = "sent equal requests and so got the same answers: they are one measurement."
    assert f"1 call. The 3 controlled set-ups {told}" in words("x", "x", "x")
    assert f"1 call. a:controlled and c:controlled {told}" in words("x", "y", "x")
    assert told not in words("x", "y", "")
    controlled[0] = controlled[0].model_copy(update={"completion_tokens": 401})
    assert f"1 call. b:controlled and c:controlled {told}" in words("x", "x", "x")


def test_trials_that_gave_up_are_counted() -> None:
    reference, other = run().frameworks
    queries = (run().queries[0].model_copy(update={"calls": 0}), run().queries[1])

    def sure(**gave_up: tuple[int, ...]) -> str:
        own = (reference, other.model_copy(update={"gave_up": gave_up}))
        return lead_of(run().model_copy(update={"frameworks": own, "queries": queries}))[4]

    assert sure(a=(0, 1), b=(1,)).endswith(
        " In 3 of 8 trials, the model gave up (it answered GIVE_UP); these count as unsolved, 2 of them in tasks "
        "that expect no call."
    )
    assert sure(b=(0, 1)).endswith(
        " In 2 of 8 trials, the model gave up (it answered GIVE_UP); of these, 1 count as unsolved."
    )
    assert "GIVE_UP" not in sure()


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
