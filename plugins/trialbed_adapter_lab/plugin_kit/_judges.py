"""The checks of a judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from trialbed.contracts import STATUS_VALUES, Candidate, Judge, Preference, Verdict
from trialbed.errors import JudgeError, ModelFailed
from trialbed.scoring import ScoreContext
from trialbed_adapter_lab.conformance import expect, may, must
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_json, expect_kind
from trialbed_adapter_lab.plugin_kit._samples import ENDPOINT, model_that_says, sample_trials

CLOSE = 1e-9


def _make(subject: PluginSubject, votes: int = 1, reply: Callable[[], str] | None = None) -> Judge:
    asks = reply is not None or subject.thing.needs_model
    judge = cast("Judge", subject.thing(ENDPOINT if asks else None, votes=votes))
    if asks:
        judge.model = model_that_says(reply or str)
    return judge


async def _verdict(subject: PluginSubject, judge: Judge, label: str, context: ScoreContext) -> Verdict | None:
    """The verdict on a trial; None where the judge has none, and says so."""
    what = f"a verdict on {label}, or a JudgeError"
    arguments = (context.query, context.answer, context.wire)
    try:
        verdict = await subject.call(what, judge.judge, *arguments, allowed=(JudgeError,))
    except JudgeError:
        return None
    expect_kind(f"the verdict on {label}", verdict, Verdict)
    return cast("Verdict", verdict)


async def _verdicts(subject: PluginSubject, votes: int = 1) -> list[tuple[str, Verdict]]:
    if subject.thing.needs_model:
        raise NotTried("it asks a model, whose replies only it can read")
    judge = _make(subject, votes)
    found = [(label, await _verdict(subject, judge, label, context)) for label, context in sample_trials().items()]
    return [(label, verdict) for label, verdict in found if verdict is not None]


@must(
    reason="An exception of any other kind looks like a fault of Trialbed.",
    hint="Raise trialbed.errors.JudgeError where there is no verdict.",
)
async def every_answer_gets_a_verdict_or_a_judge_error(subject: PluginSubject) -> None:
    """It grades every answer, or raises JudgeError: empty, strange and long ones, with failed calls, without tools."""
    await _verdicts(subject)


@must(
    reason="The Solvable Pass Rate is the mean of the values.",
    hint="value is the mean over votes of 1, 0.5 and 0 for Solved, Unsure and Unsolved.",
)
async def verdicts_follow_from_their_votes(subject: PluginSubject) -> None:
    """A verdict has votes, its value is their mean, and its status that of most."""
    for label, verdict in await _verdicts(subject):
        expect(bool(verdict.votes), f"votes for {label}", "none")
        mean = sum(STATUS_VALUES[vote] for vote in verdict.votes) / len(verdict.votes)
        expect(
            abs(verdict.value - mean) < CLOSE, f"the value {mean:g} for {label}, the mean of its votes", verdict.value
        )
        counts = {vote: verdict.votes.count(vote) for vote in verdict.votes}
        most = [vote for vote, count in counts.items() if count == max(counts.values())]
        wanted = most[0] if len(most) == 1 else "Unsure"
        expect(verdict.status == wanted, f"the status {wanted} for {label}, from its votes", verdict.status)


@must(reason="Users read why an answer is not solved.", hint="Say in reason what decided.")
async def verdicts_have_a_reason(subject: PluginSubject) -> None:
    """A verdict says why."""
    for label, verdict in await _verdicts(subject):
        expect(bool(verdict.reason.strip()), f"a reason for {label}", "an empty text")


@must(reason="A run that is graded again would differ.", hint="Keep nothing between trials; seed what is drawn.")
async def equal_answers_get_equal_verdicts(subject: PluginSubject) -> None:
    """Without a model, the verdict on a trial depends on it alone."""
    first, again = dict(await _verdicts(subject)), dict(reversed(await _verdicts(subject)))
    for label, verdict in first.items():
        other = again.get(label)
        expect(other == verdict, f"the verdict {show(verdict.status)} on {label} again", show(other and other.status))
    judge = _make(subject)
    label, context = next(iter(sample_trials().items()))
    for _ in range(3):
        expect(
            await _verdict(subject, judge, label, context) == first.get(label),
            f"the same verdict on {label}",
            "another",
        )


@must(reason="--judge-votes would not be kept.", hint="Give as many votes as the constructor was given.")
async def there_are_as_many_votes_as_asked_for(subject: PluginSubject) -> None:
    """With three votes, a verdict has three; a judge without chance may give one."""
    for label, verdict in await _verdicts(subject, votes=3):
        expect(len(verdict.votes) in (1, 3), f"3 votes for {label}", len(verdict.votes))


@must(
    reason="The model's fault would be the judge's.",
    hint="Read replies with model.ask_for, and raise JudgeError where that fails.",
)
async def unreadable_replies_are_judge_errors(subject: PluginSubject) -> None:
    """It gives a verdict or raises JudgeError where its model fails, or replies with anything at all."""
    if not subject.thing.needs_model:
        raise NotTried("it asks no model")

    def fail() -> str:
        raise ModelFailed("the sample model is out of reach")

    replies: dict[str, Callable[[], str]] = {
        "no text": lambda: "",
        "no JSON": lambda: "I like it.",
        "another JSON": lambda: '{"sample": [1, null]}',
        "a long reply": lambda: "{" * 10_000,
        "a failure": fail,
    }
    label, context = next(iter(sample_trials().items()))
    for kind, reply in replies.items():
        await _verdict(subject, _make(subject, reply=reply), f"{label}, where the model gives {kind}", context)


@must(reason="A calibration and result documents have them.", hint="Put plain values into about.")
async def what_it_depends_on_is_json(subject: PluginSubject) -> None:
    """`about` is JSON, and the same for two instances."""
    first, second = dict(_make(subject).about), dict(_make(subject).about)
    expect(first == second, f"the same about of two instances, {show(first)}", second)
    expect_json("about", first)


@may(reason="The user got nothing.", hint="Return Unsolved where answer.final_answer is empty.")
async def an_empty_answer_is_not_solved(subject: PluginSubject) -> None:
    """An empty answer is not Solved."""
    for label, verdict in await _verdicts(subject):
        if "empty" in label:
            expect(verdict.status != "Solved", f"Unsolved or Unsure for {label}", verdict.status)


@must(reason="Preferences would be lost.", hint="Return a Preference, or leave prefer out.")
async def preferences_are_preferences(subject: PluginSubject) -> None:
    """It prefers one of two answers with a Preference, or raises JudgeError."""
    if subject.thing.needs_model:
        raise NotTried("it asks a model, whose replies only it can read")
    trials = [*sample_trials().values()]
    first, second = (Candidate(answer=trial.answer, wire=trial.wire) for trial in (trials[0], trials[2]))
    what: Any = "a preference, or a JudgeError"
    try:
        found = await subject.call(what, _make(subject).prefer, trials[0].query, first, second, allowed=(JudgeError,))
    except JudgeError:
        return
    expect_kind("the preference", found, Preference)
