"""The kit for plugins: bundled ones conform, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from support.cases import for_each

from trialbed import Api, ApiRef, GoldCall, Query, Score, hookimpl
from trialbed.contracts import (
    Dataset,
    DatasetDriver,
    Judge,
    ModelDriver,
    ModelInfo,
    ModelReply,
    OpenedModel,
    Simulation,
    Simulator,
    ToolSelector,
    TrialModel,
    Verdict,
    World,
)
from trialbed.errors import UsageError
from trialbed.installed import offers
from trialbed.wire import ModelAnswer
from trialbed_adapter_lab import ConformanceReport
from trialbed_adapter_lab.plugin_kit import KINDS, PLUGIN_CHECKS, PluginSubject, _check, check_plugin, find_plugin

COUNT = itertools.count()


def failed(report: ConformanceReport) -> dict[str, str]:
    return {finding.check: finding.message for finding in report.problems}


def check(kind: str, thing: Any, *only: str) -> dict[str, str]:
    return failed(check_plugin(PluginSubject(kind, "mine", thing), only))


BUNDLED = [
    (kind, offer.name)
    for kind in ("plugins", "judges", "selectors", "datasets", "simulators", "models")
    for offer in offers(f"trialbed.{kind}")
    if offer.distribution == "trialbed" and offer.name not in ("slow", "local")  # they take long, as they are meant to
]


@for_each("kind, name", BUNDLED)
def test_every_bundled_plugin_conforms(kind: str, name: str) -> None:
    report = check_plugin(find_plugin(name, [kind], chosen=True))
    assert failed(report) == {}
    assert len(report.findings) == len(PLUGIN_CHECKS[kind]) + 1


def test_every_kind_has_checks_that_say_why_and_what_to_do() -> None:
    assert {*KINDS.values()} == {*PLUGIN_CHECKS}
    for checks in PLUGIN_CHECKS.values():
        assert len({one.name for one in checks}) == len(checks) > 5
        assert all(one.summary.endswith(".") and one.reason and one.hint for one in checks)


# -- scorers ------------------------------------------------------------------------------------------


def scorer(score: Callable[[Any], Any], **more: Any) -> Any:
    @hookimpl
    def score_trial(context: Any) -> Any:
        return score(context)

    return SimpleNamespace(score_trial=score_trial, **more)


@hookimpl
def aggregate_scores(results: Sequence[Any]) -> Any:
    return {"mine": {1, 2} if not results else 1}


def one(value: Any = 1.0, name: str = "mine_score", **more: Any) -> list[Score]:
    return [Score(name=name, value=value, **more)]


def test_a_right_scorer_conforms() -> None:
    assert check("plugins", scorer(lambda context: one(float(len(context.text)), bounded=False))) == {}


@for_each(
    "thing, name",
    [
        (scorer(lambda context: one(1 / len(context.calls))), "every_trial_is_scored"),
        (scorer(lambda context: one(float(len(context.text.split()[0])), bounded=False)), "every_trial_is_scored"),
        (scorer(lambda _: [1.0]), "every_trial_is_scored"),
        (scorer(lambda context: one(float(len(context.text)))), "values_are_what_they_say"),
        (scorer(lambda _: one(float("nan"), bounded=False)), "values_are_what_they_say"),
        (scorer(lambda _: one(None)), "values_are_what_they_say"),
        (scorer(lambda _: one(float(next(COUNT)), bounded=False)), "equal_trials_score_equally"),
        (scorer(lambda _: one(random.random())), "equal_trials_score_equally"),
        (scorer(lambda _: one() + one()), "names_are_its_own"),
        (scorer(lambda _: one(name="tool_call_accuracy")), "names_are_its_own"),
        (
            scorer(lambda context: context.wire.api_calls[0].arguments.clear() or one() if context.calls else one()),
            "trials_stay_as_they_are",
        ),
        (scorer(lambda _: one(), aggregate_scores=aggregate_scores), "figures_over_trials_are_json"),
    ],
)
def test_each_defect_of_a_scorer_is_named(thing: Any, name: str) -> None:
    assert name in check("plugins", thing)


def test_a_scorer_without_descriptions_is_only_told_so() -> None:
    report = check_plugin(PluginSubject("plugins", "mine", scorer(lambda _: one())), ["scores_are_described"])
    assert report.ok
    assert [finding.outcome for finding in report.findings] == ["finding"]


# -- judges -------------------------------------------------------------------------------------------


class RightJudge(Judge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        status = "Solved" if answer.final_answer else "Unsolved"
        return Verdict(
            status=cast("Any", status), value=float(status == "Solved"), reason="text", votes=(cast("Any", status),)
        )


class FirstWordJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        assert answer.final_answer.split()[0]
        return await super().judge(query, answer, wire)


class TextJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Any:
        return "Solved"


class OtherValueJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"value": 0.7})


class OtherStatusJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"status": "Unsure"})


class VotelessJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"votes": ()})


class SilentJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"reason": " "})


class ChangingJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        return (await super().judge(query, answer, wire)).model_copy(update={"reason": f"the {next(COUNT)}th"})


class TwoVotesJudge(RightJudge):
    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        found = await super().judge(query, answer, wire)
        return found.model_copy(update={"votes": found.votes * 2})


class CarelessJudge(RightJudge):
    needs_model = True

    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        assert self.model is not None
        return await super().judge(
            query, answer.model_copy(update={"final_answer": (await self.model.ask([]))[0]}), wire
        )


class ObjectAboutJudge(RightJudge):
    @property
    def about(self) -> Any:
        return {"prompt": {1, 2}}


class TextPreferenceJudge(RightJudge):
    async def prefer(self, query: Any, first: Any, second: Any, *, vote: int = 0) -> Any:
        return "first"


def test_a_right_judge_conforms() -> None:
    assert check("judges", RightJudge) == {}


@for_each(
    "judge, name",
    [
        (FirstWordJudge, "every_answer_gets_a_verdict_or_a_judge_error"),
        (TextJudge, "every_answer_gets_a_verdict_or_a_judge_error"),
        (OtherValueJudge, "verdicts_follow_from_their_votes"),
        (OtherStatusJudge, "verdicts_follow_from_their_votes"),
        (VotelessJudge, "verdicts_follow_from_their_votes"),
        (SilentJudge, "verdicts_have_a_reason"),
        (ChangingJudge, "equal_answers_get_equal_verdicts"),
        (TwoVotesJudge, "there_are_as_many_votes_as_asked_for"),
        (CarelessJudge, "unreadable_replies_are_judge_errors"),
        (ObjectAboutJudge, "what_it_depends_on_is_json"),
        (TextPreferenceJudge, "preferences_are_preferences"),
    ],
)
def test_each_defect_of_a_judge_is_named(judge: type[Judge], name: str) -> None:
    assert name in check("judges", judge)


# -- selectors ----------------------------------------------------------------------------------------


class RightSelector(ToolSelector):
    needs_catalog = True

    def prepare(self, apis: Sequence[Api]) -> None:
        self.refs = [api.ref for api in apis]

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs[:max_tools]


class EndlessSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs


class InventingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return [ApiRef(category="a", tool_name="b", api_name="c")]


class TwiceSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return (self.refs[:1] * 2)[:max_tools]


class NamingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Any:
        return [ref.title for ref in self.refs[:max_tools]]


class DrawingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return random.sample(self.refs, min(max_tools, len(self.refs)))


class RememberingSelector(RightSelector):
    seen = 0

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        self.seen += 1
        return self.refs[self.seen : self.seen + max_tools]


class FirstWordSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        assert query.text.split()[0]
        return self.refs[:max_tools]


def test_a_right_selector_conforms() -> None:
    assert check("selectors", RightSelector) == {}


@for_each(
    "selector, name",
    [
        (EndlessSelector, "no_more_than_asked_for"),
        (InventingSelector, "only_known_apis"),
        (TwiceSelector, "only_known_apis"),
        (NamingSelector, "only_known_apis"),
        (DrawingSelector, "equal_queries_get_equal_choices"),
        (RememberingSelector, "equal_queries_get_equal_choices"),
        (FirstWordSelector, "nothing_and_strange_texts_are_taken"),
    ],
)
def test_each_defect_of_a_selector_is_named(selector: type[ToolSelector], name: str) -> None:
    assert name in check("selectors", selector)


# -- datasets -----------------------------------------------------------------------------------------

HELLO = Api(category="Greet", tool_name="polite", api_name="hello")


def query(number: int = 1, **more: Any) -> Query:
    fields: dict[str, Any] = {"apis": (HELLO,), "gold_calls": (GoldCall(api=HELLO.ref),), **more}
    return Query(query_id=number, text="Say hello", **fields)


class RightDataset(Dataset):
    name = test_set = "mine"
    given: ClassVar[list[Query]] = [query(1), query(2)]
    known: ClassVar[list[Api]] = [HELLO]

    def queries(self) -> Any:
        return [*self.given]

    def apis(self) -> Any:
        return [*self.known]


class RightDataDriver(DatasetDriver):
    made: type[Dataset] = RightDataset

    def test_sets(self, data_dir: Any) -> Sequence[str]:
        return ("mine",)

    def open(self, test_set: str | None, data_dir: Any) -> Dataset:
        if test_set not in (None, "mine"):
            raise UsageError("there is only 'mine'")
        return self.made()


class AcceptingDriver(RightDataDriver):
    def open(self, test_set: str | None, data_dir: Any) -> Dataset:
        return self.made()


class ListingDriver(RightDataDriver):
    def test_sets(self, data_dir: Any) -> Sequence[str]:
        return [place.name for place in data_dir.iterdir()]


class SharedDataset(RightDataset):
    kept: ClassVar[list[Query]] = [query(1)]

    def queries(self) -> Any:
        return self.kept


class ShuffledDataset(RightDataset):
    def queries(self) -> Any:
        return [query(next(COUNT))]


def driver(**fields: Any) -> type[DatasetDriver]:
    return type("Driver", (RightDataDriver,), {"made": type("Made", (RightDataset,), fields)})


def test_a_right_dataset_conforms() -> None:
    assert check("datasets", RightDataDriver) == {}


@for_each(
    "thing, name",
    [
        (driver(given=[]), "queries_and_apis_are_records"),
        (driver(given=[{"text": "a"}]), "queries_and_apis_are_records"),
        (driver(given=[query(1), query(1)]), "identities_are_unique"),
        (driver(known=[HELLO, HELLO]), "identities_are_unique"),
        (driver(given=[query(apis=())]), "gold_calls_can_be_made"),
        (driver(known=[]), "gold_calls_can_be_made"),
        (driver(simulator="nobody"), "its_simulator_is_installed"),
        (driver(test_set="a/b"), "its_simulator_is_installed"),
        (type("Driver", (RightDataDriver,), {"made": ShuffledDataset}), "it_is_the_same_when_opened_again"),
        (type("Driver", (RightDataDriver,), {"made": SharedDataset}), "its_lists_are_its_own"),
        (AcceptingDriver, "unknown_test_sets_are_refused"),
        (ListingDriver, "an_empty_folder_is_taken"),
    ],
)
def test_each_defect_of_a_dataset_is_named(thing: type[DatasetDriver], name: str) -> None:
    assert name in check("datasets", thing, name)


def test_queries_that_say_nothing_of_what_solves_them_are_told() -> None:
    bare = [query(1, gold_calls=()), query(2, gold_calls=(), states_calls=False)]
    told = [*bare, query(3), query(4, gold_calls=(), reference_facts=("a",)), query(5, gold_calls=(), final_state={})]
    subject = PluginSubject("datasets", "mine", driver(given=told))
    (finding,) = check_plugin(subject, ["queries_can_be_checked"]).findings
    assert finding.outcome == "finding"
    assert "seen: [1, 2]" in finding.message


# -- simulators ---------------------------------------------------------------------------------------


class RightSimulator(Simulator):
    provenance = "mine"

    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response={"of": ref, "for": arguments})


class RaisingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        raise KeyError(ref)


class TextSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Any:
        return "text"


class DrawingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response=random.random())


class CountingSimulator(RightSimulator):
    count = 0

    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        self.count += 1
        return Simulation(response=self.count)


class EatingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response=[arguments.popitem() for _ in [*arguments]])


class NamelessSimulator(RightSimulator):
    provenance = ""


class ChangingRevision(RightSimulator):
    def revision(self, api: Any) -> str:
        return str(next(COUNT))


class SharedWorld(World):
    def __init__(self, done: list[str]) -> None:
        self.done = done

    def call(self, api: Api, arguments: Any) -> Any:
        self.done.append(api.ref.title)
        return "done"

    def state(self) -> Any:
        return [*self.done]


class SharingSimulator(RightSimulator):
    done: ClassVar[list[str]] = []

    def world(self) -> World:
        return SharedWorld(self.done)


class HeldSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        while "nobody" in arguments:
            time.sleep(0.01)  # noqa: ASYNC251 - the loop is held
        return await super().simulate(api, ref, arguments)


def test_a_right_simulator_conforms() -> None:
    assert check("simulators", RightSimulator) == {}


@for_each(
    "simulator, name",
    [
        (RaisingSimulator, "fitting_calls_are_answered"),
        (TextSimulator, "fitting_calls_are_answered"),
        (HeldSimulator, "wrong_calls_end"),
        (DrawingSimulator, "equal_calls_are_answered_equally"),
        (CountingSimulator, "calls_side_by_side_are_answered_alike"),
        (CountingSimulator, "a_call_that_is_cancelled_costs_no_other"),
        (EatingSimulator, "arguments_stay_as_they_are"),
        (NamelessSimulator, "what_marks_its_answers_is_constant"),
        (ChangingRevision, "what_marks_its_answers_is_constant"),
        (SharingSimulator, "worlds_share_nothing"),
    ],
)
def test_each_defect_of_a_simulator_is_named(
    monkeypatch: pytest.MonkeyPatch, simulator: type[Simulator], name: str
) -> None:
    monkeypatch.setattr(_check, "SECONDS", 0.5)
    assert name in check("simulators", simulator, name)


# -- models -------------------------------------------------------------------------------------------


class RightModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return ModelReply(ModelAnswer(content="Polly."))


class RightModels(ModelDriver):
    contract = "1"

    def names(self, settings: Any) -> Sequence[str]:
        return ("one", "two")

    def describe(self, name: str, settings: Any) -> ModelInfo:
        if name not in ("one", "two"):
            raise UsageError("there are only one and two")
        return ModelInfo(identity=name, deterministic=True)

    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return RightModel()


class OldModels(RightModels):
    contract = "0"


class ChangingModels(RightModels):
    def describe(self, name: str, settings: Any) -> ModelInfo:
        return ModelInfo(identity=str(next(COUNT)))


class NowhereModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return None


class PlainUrlModels(RightModels):
    def open(self, name: str, settings: Any) -> Any:
        return _Opened()


class _Opened:
    async def __aenter__(self) -> OpenedModel:
        return OpenedModel(model="one", base_url="http://127.0.0.1:9")

    async def __aexit__(self, *_: object) -> None:
        pass


class TextModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return "Polly."


class TextModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return TextModel()


class DrawingModel(TrialModel):
    async def answer(self, question: Any) -> Any:
        return ModelReply(ModelAnswer(content=str(random.random())))


class DrawingModels(RightModels):
    def begin(self, name: str, registration: Any) -> TrialModel | None:
        return DrawingModel()


def test_a_right_driver_of_models_conforms() -> None:
    assert check("models", RightModels) == {}


@for_each(
    "models, name",
    [
        (OldModels, "its_contract_is_stated"),
        (ChangingModels, "every_name_is_described"),
        (NowhereModels, "a_model_that_opens_answers_somewhere"),
        (PlainUrlModels, "a_model_that_opens_answers_somewhere"),
        (TextModels, "answers_are_replies"),
        (DrawingModels, "it_is_as_deterministic_as_it_says"),
    ],
)
def test_each_defect_of_a_driver_of_models_is_named(models: type[ModelDriver], name: str) -> None:
    assert name in check("models", models, name)


# -- the report ---------------------------------------------------------------------------------------


def test_a_failure_says_what_was_expected_seen_why_and_what_to_do_with_the_plugins_line() -> None:
    message = check("judges", FirstWordJudge)["every_answer_gets_a_verdict_or_a_judge_error"]
    assert message.startswith(
        "expected a verdict on an empty answer without calls, or a JudgeError; seen: IndexError: "
    )
    assert f'(File "{__file__}", line ' in message
    assert "\nwhy: " in message
    assert "\nhint: Raise trialbed.errors.JudgeError" in message


def test_what_cannot_be_checked_is_no_failure_and_says_so() -> None:
    report = check_plugin(PluginSubject("simulators", "mine", RightSimulator), ["worlds_share_nothing"])
    assert report.ok
    assert [finding.message for finding in report.findings] == ["not checked: its Apis change nothing"]


def test_the_subject_is_called_within_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "SECONDS", 0.3)
    held = PluginSubject("simulators", "mine", HeldSimulator)
    report = check_plugin(held, ["wrong_calls_end"])
    assert f'did not return within 0.3 s (File "{__file__}", line ' in failed(report)["wrong_calls_end"]
