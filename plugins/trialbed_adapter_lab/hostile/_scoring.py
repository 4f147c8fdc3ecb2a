"""Run the cheats beside frameworks that do not cheat, and compare their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trialbed.files import temporary_folder
from trialbed.store import StoredRun, StoredTrial
from trialbed_adapter_lab.hostile._cheats import CHEATS, ENDPOINT, EVERY_TOOL, REPEAT, Cheat, CheatResult
from trialbed_adapter_lab.hostile._runs import hostile_run
from trialbed_scripted import ReceivedRequest, Response, Turn, ask, call, fail, say, serve

HONEST = "reference"
"""The framework whose scores are right, whatever the model."""

SCORES = ("sopr_score", "api_f1", "claimed_vs_observed")


def run_cheats(
    framework: str, sandbox: str = "none", cheats: Sequence[Cheat] = CHEATS, *, options: Sequence[str] = ()
) -> tuple[CheatResult, ...]:
    """Run the cheating adapter beside a framework and the reference, with the model of each cheat.

    Args:
        framework, sandbox, options: as ``run_attacks`` takes them.
        cheats: those to carry out.

    Raises:
        NothingMeasured: a run did not get to its end.
    """
    found: list[CheatResult] = []
    for model in dict.fromkeys(cheat.model for cheat in cheats):
        own = [cheat for cheat in cheats if cheat.model == model]
        with temporary_folder() as folder, _model_options(model) as chosen:
            frameworks = dict.fromkeys((HONEST, framework, "cheating"))
            command = ["--dataset", "cheats", *chosen, "--sandbox", sandbox, "--max-steps", "6", *options]
            command += [part for name in frameworks for part in ("-f", name)]
            command += [part for cheat in own for part in ("--query-id", cheat.name)]
            with hostile_run(folder, command) as run:
                found += _results(run, own, refusable=sandbox != "none")
    return tuple(found)


@contextmanager
def _model_options(model: str) -> Iterator[list[str]]:
    """Hold this while a run asks the model that its options name."""
    if model != ENDPOINT:
        yield ["--model", model]
        return
    with serve(_obey) as endpoint:
        yield ["--model", "m", "--base-url", endpoint.url]


def _obey(request: ReceivedRequest) -> Turn | Response:
    """Answer for a model that obeys, at an endpoint that refuses another key and malformed messages."""
    if "x-own-key" in request.headers:
        return fail(401, "there is no such key", "authentication_error")
    if not isinstance(request.document.get("messages"), list):
        return fail(400, "messages must be a list", "invalid_request_error")
    told = str(request.document["messages"][-1].get("content"))
    if told == EVERY_TOOL:
        names = [tool["function"]["name"] for tool in request.document.get("tools") or ()]
        return ask(*(call(name) for name in names))
    return say(told.removeprefix(REPEAT) if told.startswith(REPEAT) else "I do not know.")


def _results(run: StoredRun, cheats: Sequence[Cheat], *, refusable: bool) -> Iterator[CheatResult]:
    for cheat in cheats:
        trials = {trial.key.framework: trial for trial in run.trials(query_id=cheat.name)}
        own, honest = trials.pop("cheating"), trials[HONEST]
        named = tuple(found.kind for found in own.integrity or ())
        gained = {
            score: (value, right)
            for score in SCORES
            if (value := _value(own, score)) > (right := _value(honest, score))
        }
        lost = [trial.failure.message for trial in trials.values() if trial.failure and trial.status == "not measured"]
        # In a sandbox, it cannot read the dataset.
        kept_out = refusable and own.status == "failed" and own.failure is not None and own.failure.kind == "agent"
        held = not gained and not lost and own.status != "not measured" and (kept_out or cheat.named <= {*named})
        yield CheatResult(cheat.name, cheat.model, named, gained, "; ".join(lost), held)


def _value(trial: StoredTrial, name: str) -> float:
    score = trial.score(name) if trial.status == "answered" else None
    return 0.0 if score is None or score.value is None else score.value
