"""``evaluate``: agents, tasks, tools, scorers and judges as plain objects, beside frameworks in processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from trialbed import (
    Api,
    ApiRefused,
    BaseAgent,
    Query,
    Score,
    Simulation,
    Simulator,
    Task,
    ToolSelector,
    World,
    aevaluate,
    call,
    evaluate,
    open_store,
    scorer,
)
from trialbed.errors import EnvironmentFailed, NothingMeasured, SettingsError, UsageError
from trialbed.report import read_report

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


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def trials() -> list[Any]:
    with open_store() as store:
        return [trial.result for trial in store.run("latest").trials()]


def by_framework(score: str) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    for trial in trials():
        given = trial.score(score)
        found.setdefault(trial.key.framework, []).append(given and given.value)
    return found


def test_functions_and_frameworks_do_the_same_tasks_with_the_same_tools() -> None:
    @scorer
    def short(trial: Any) -> bool:
        """Whether the answer is short."""
        assert trial.query.text.startswith("How many")
        assert [done.api.api_name for done in trial.calls] == ["population"]
        return len(trial.text) < 20

    evaluate([counting, "reference"], [about("Paris"), about("Oslo")], scorers=[short])
    assert by_framework("sopr_score") == {"counting": [1.0, 1.0], "reference": [1.0, 1.0]}
    assert by_framework("api_call_score") == {"counting": [1.0, 1.0], "reference": [1.0, 1.0]}
    assert by_framework("short") == {"counting": [1.0, 1.0], "reference": [0.0, 0.0]}
    assert {done.provenance for trial in trials() for done in trial.wire.api_calls} == {"function"}


def test_an_answer_in_words_is_enough_and_a_fact_is_what_it_must_hold() -> None:
    evaluate({"right": lambda query: "It is Paris.", "wrong": lambda query: "It is Oslo."}, Task("?", expect="Paris"))
    assert by_framework("sopr_score") == {"right": [1.0], "wrong": [0.0]}
    assert by_framework("has_finish") == {"right": [1.0], "wrong": [1.0]}


def test_a_known_model_errs_as_it_always_does() -> None:
    evaluate("reference", [about("Paris")], model="scripted:wrong-args", repeat=2)
    assert by_framework("sopr_score") == {"reference": [0.0, 0.0]}
    (wrong, *_) = (trial.wire.api_calls[0] for trial in trials())
    assert wrong.error.startswith("Invalid arguments for population")


async def test_an_agent_is_given_what_it_asks_for() -> None:
    seen: list[Any] = []

    async def asking(question: str, endpoint: Any, base_url: str, api_key: str, model: str, more: int = 3) -> str:
        seen.append((question, endpoint.base_url == base_url, model, more))
        async with httpx.AsyncClient() as client:
            asked = {"model": model, "messages": [{"role": "user", "content": question}]}
            reply = await client.post(f"{base_url}/chat/completions", json=asked, headers={"X-Key": api_key})
        return str(reply.json()["choices"][0]["message"]["content"])

    await aevaluate(asking, Task("Are you there?"), model="scripted:none")
    assert seen == [("Are you there?", True, "gpt-4o", 3)]
    (trial,) = trials()
    assert len(trial.wire.model_calls) == 1


def test_classes_are_made_for_each_trial_and_objects_keep_what_they_have() -> None:
    class Fresh(BaseAgent):
        async def answer(self, query: str) -> str:
            self.asked = [*getattr(self, "asked", []), query]
            return f"{len(self.asked)} {self.endpoint.base_url.startswith('http')}"

    class Kept:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def answer(self, query: str) -> str:
            self.asked.append(query)
            return str(len(self.asked))

    kept = Kept()
    evaluate({"fresh": Fresh, "kept": kept}, [Task("One?"), Task("Two?")])
    said = {(trial.key.framework, trial.outcome.answer.final_answer) for trial in trials()}
    assert said == {("fresh", "1 True"), ("kept", "1"), ("kept", "2")}
    assert sorted(kept.asked) == ["One?", "Two?"]


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
    evaluate({"mine": lambda query, tools: tools[0].invoke({"city": query[:-1]})}, tasks)
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


def test_changed_code_is_a_new_run_and_the_same_code_goes_on() -> None:
    def first(query: str) -> str:
        raise ValueError

    evaluate({"mine": first}, Task("?"))
    with open_store() as store:
        before = store.run("latest").config
    evaluate({"mine": counting}, Task("?"))
    with open_store() as store:
        after = store.run("latest").config
    assert before.code_digest != after.code_digest
    assert before.dataset_digest == after.dataset_digest


def test_settings_come_from_keywords_variables_and_the_file_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bench.toml").write_text('[run]\nrepeat = 2\nseed = 5\nmodel = "scripted:none"\ntag = ["file"]\n')
    monkeypatch.setenv("TRIALBED_SEED", "6")
    monkeypatch.setenv("TRIALBED_TAG", "one two")
    report = evaluate(counting, [about("Paris")], repeat=1)
    config = report.run.config
    assert (config.repeat, config.seed, config.model, report.run.tags) == (1, 6, "scripted:none", ("one", "two"))
    monkeypatch.setenv("TRIALBED_SEED", "six")
    with pytest.raises(SettingsError, match="TRIALBED_SEED: Input should be a valid integer"):
        evaluate(counting, [about("Paris")])


def test_a_report_is_held_against_thresholds_and_an_earlier_run() -> None:
    tasks = [Task(f"{number}?", expect="yes") for number in range(10)]
    good, bad = (evaluate({"mine": lambda query, said=said: said}, tasks) for said in ("yes", "no"))
    assert good.below(sopr_score=0.8) == []
    assert bad.below({"pass^1": 0.5}, sopr_score=0.8) == [
        "mine: pass^1 is not measured, below 0.5",
        "mine: sopr_score is 0, below 0.8",
    ]
    with pytest.raises(UsageError, match="there is no score 'sopr'; the scores are "):
        good.below(sopr=1.0)
    (line,) = bad.worse_than(good.run.run_id)
    assert line.startswith(
        f"mine ({bad.run.run_id}) is worse than mine ({good.run.run_id}): sopr_score differs by -1.0"
    )
    assert good.worse_than(bad.run.run_id) == []


def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(counting, [about("Paris")])
    assert capsys.readouterr().err == ""
    report = evaluate(counting, [about("Paris")], progress=True)
    assert capsys.readouterr().err.startswith(f"run {report.run.run_id}: 1 trial\n[1/1]")


def test_environments_are_built_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def provide(store: Any, requests: Any, progress: Any) -> dict[str, Any]:
        asked.extend(request.framework.text for request in requests)
        raise EnvironmentFailed("not here")

    monkeypatch.setattr("trialbed.api.provide", provide)
    monkeypatch.setenv("TRIALBED_ENV_DIR", "environments")
    agents = ["crewai==0.0.1", "crewai:controlled==0.0.1"]
    with pytest.raises(EnvironmentFailed, match=r"crewai==0.0.1 is not installed here: give build=True"):
        evaluate(agents, Task("?"))
    with pytest.raises(EnvironmentFailed, match="not here"):
        evaluate(agents, Task("?"), build=True)
    monkeypatch.setenv("TRIALBED_YES", "true")
    with pytest.raises(EnvironmentFailed, match="not here"):
        evaluate(agents, Task("?"))
    assert asked == ["crewai==0.0.1"] * 2


def test_the_tasks_are_found_again_when_the_run_is_looked_at() -> None:
    from trialbed.engine import known_queries

    evaluate(counting, [about("Paris", id="paris")])
    with open_store() as store:
        config = store.run("latest").config
    found = known_queries(config, Path("data"))
    assert found is not None
    assert found["paris"].text == "How many live in Paris?"
    assert config.test_set == "tasks"
    assert json.loads(Path(config.dataset).read_text())["name"] == "tasks"


def test_a_dataset_by_its_name_and_a_sweep() -> None:
    for model in ("scripted:gold", "scripted:none"):
        evaluate(["reference"], "mini", model=model, query_ids=[1])
    with open_store() as store:
        models = [run.config.model for run in store.runs()]
    assert models == ["scripted:none", "scripted:gold"]


def test_scores_have_what_their_scorer_says() -> None:
    @scorer(name="letters", unit="letters", lower_is_better=True)
    async def length(trial: Any) -> int:
        await asyncio.sleep(0)
        return len(trial.text)

    def whole(trial: Any) -> Score:
        return Score(name="whole", value=0.25, label="quarter")

    def none(trial: Any) -> None:
        return None

    def wrong(trial: Any) -> float:
        return 7.0

    evaluate({"mine": lambda query: "Paris"}, Task("?"), scorers=[length, whole, none, wrong])
    (trial,) = trials()
    letters = trial.score("letters")
    assert (letters.value, letters.bounded) == (5.0, False)
    assert trial.score("whole").label == "quarter"
    assert trial.score("none") is None
    assert "not from 0 to 1; say so with @scorer(bounded=False)" in trial.score("wrong:failed").failure.message


def test_a_stored_run_keeps_the_descriptions_of_its_scorers() -> None:
    @scorer(name="size", unit="words", meaning="how long the answer is")
    def length(trial: Any) -> int:
        return len(trial.text.split())

    evaluate({"mine": lambda query: "Paris"}, Task("?"), scorers=[length])
    with open_store() as store:
        run = store.run("latest")
        report = read_report(run)
        assert {"size", "sopr_score"} <= run.record.scores.keys()
    assert report["mine"].scores["size"].description == length.describe_scores()[0]
    assert "size, words" in str(report)
    assert "first of a worker" not in str(report), "an object of this process has no worker"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"repat": 2}, r"evaluate: unknown setting 'repat'; did you mean 'repeat'\?"),
        ({"repeat": 0}, "evaluate: repeat=0: Input should be greater than or equal to 1"),
        ({"model": "scripted:gld"}, "did you mean 'scripted:gold'"),
        ({"judge": "rul"}, "did you mean 'rule'"),
        ({"judge": Query}, "judge: .* is not a judge"),
        ({"scorers": [3]}, r"scorers: 3 is neither a function nor an object with score_trial"),
        ({"scorers": [scorer(counting), counting]}, "scorers: two are called 'counting'"),
        ({"agents": [counting, counting]}, "agents: two are called 'counting'; give them names"),
        ({"agents": []}, "agents: there are none"),
        ({"agents": {"mine": 3}}, "mine: int is not an agent"),
        ({"agents": {"mine": lambda query, secret: ""}}, "mine: unknown parameter 'secret'"),
        ({"agents": {"mine": "reference"}}, "a framework keeps its own label: write 'reference', not 'mine'"),
        ({"agents": "lang-graph"}, "did you mean 'langgraph'"),
        ({"tasks": ["What?"]}, r"tasks: 'What\?' is not a task; write Task\('What\?', …\)"),
        ({"tasks": []}, "tasks: there are none"),
        ({"tasks": [Task("?", tools=[3])]}, "task 1: 3 is not a tool"),
        (
            {"tasks": [Task("?", tools=[population], calls=["poplation"])]},
            "no tool 'poplation'; did you mean 'population'",
        ),
        ({"tasks": [Task("?", tools=[lambda x, /: x])]}, "cannot be a tool"),
        ({"tasks": "mni"}, "did you mean 'mini'"),
        ({"sandbox": "process"}, "cannot be put into a sandbox"),
        ({"server_url": "http://127.0.0.1:9", "tasks": [Task("?", tools=[population])]}, "leave out server_url"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(given: dict[str, Any], says: str) -> None:
    def never(query: str) -> str:
        raise AssertionError("must not be asked")

    asked = {"agents": never, "tasks": [Task("?")], **given}
    with pytest.raises(Exception, match=says) as raised:
        evaluate(**asked)
    assert getattr(raised.value, "exit_code", None) in (2, 3)


async def test_inside_an_event_loop_the_other_form_is_named() -> None:
    with pytest.raises(UsageError, match="await aevaluate"):
        evaluate(counting, Task("?"))


def test_what_is_shown_of_an_agent_without_a_model_of_the_run_blames_no_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trialbed.cli import main

    report = evaluate(counting, [about("Paris")])
    assert not Path("results").exists()
    assert report["counting"].scores["sopr_score"].value == 1.0
    assert "sopr_score" in str(report)
    assert "<table" in report._repr_html_()
    capsys.readouterr()
    assert main(["show", "latest", "counting/1"]) == 0
    shown = capsys.readouterr().out
    assert "gold: population {" in shown
    assert "no answer of the model asked for it" not in shown
    assert "not called" not in shown


def test_documents_are_written_where_they_are_asked_for() -> None:
    evaluate(counting, [about("Paris")], output="documents")
    document = json.loads(Path("documents/counting_tasks.json").read_text())
    assert document["summary"]["average_sopr_score"] == 1.0


def test_the_page_of_a_trial_runs_programs_and_frameworks_again_and_no_object(tmp_path: Path) -> None:
    from trialbed_pages.runs import TrialPage

    (tmp_path / "agent.py").write_text("print('Paris')")
    evaluate([counting, "reference"], Task("?"), commands=["mine=python agent.py"])
    with open_store() as store:
        run = store.run("latest")
        commands = {trial.key.framework: TrialPage(run, trial, None).run_command for trial in run.trials()}
    assert commands["counting"] is None
    assert str(commands["reference"]).startswith("bench run -f reference -d ")
    assert str(commands["mine"]).startswith("bench run --command 'mine=python agent.py' -d ")


def test_gold_calls_of_functions_are_not_made_apart() -> None:
    with pytest.raises(UsageError, match="gold_answers: the gold calls of tools that are functions"):
        evaluate(counting, [about("Paris")], gold_answers=True)
