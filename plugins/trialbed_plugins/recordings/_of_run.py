"""The recording of a stored run, whose wire logs contain every answer of its model, and trials compared with one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import ModelCall, RunCell, RunConfig, TrialKey, TrialResult, read_fault_plan
from trialbed.store import StoredRun
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire.addresses import split_address
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest
from trialbed_plugins.recordings._cassette import Cassette, RecordedReply, answer_of
from trialbed_plugins.recordings._requests import (
    CUT,
    RequestDifference,
    apply_masks,
    canonical,
    canonical_text,
    differences,
    find_masks,
    nearest,
)

ANSWERED_FAULTS = ("", "slow")
"""Faults that still let the model answer."""


def recording_of(run: StoredRun, ignored: Sequence[str] = ()) -> tuple[Cassette, Counter[str]]:
    """Return the recording of a run and the number of answers that it lacks. Trials are read in batches.

    Missing answers are ``conflicts`` (another framework's equal request got a different answer), ``cut`` (the request
    or answer was too long for the log) and ``failed`` (there was no answer).

    Args:
        ignored: the parts of requests that do not matter.

    Raises:
        DataError: a wire log cannot be read.
        UsageError: the run has several models, which answer the same request differently.
    """
    config, cell, left_out = run.config, run.config.cells[0], Counter[str]()
    if len(config.models) > 1:
        raise UsageError(
            f"run {run.run_id} has the answers of {len(config.models)} models ({', '.join(config.models)}), but a "
            "recording holds one: run each model alone, and record that run"
        )
    name = split_address(cell.model)[0]  # an address may have a password
    trials = run.results_at(sorted(run.table()["row"].tolist()))
    replies = (reply for trial in trials for reply in _replies(trial, config, left_out, ignored))
    cassette = Cassette(name, cell.model_identity or name, cell.told_model, replies, ignored=ignored)
    left_out["conflicts"] = cassette.conflicts
    return cassette, left_out


def compare_repeats(run: StoredRun, ignored: Sequence[str] = ()) -> list[str]:
    """Return masks for the differences between requests in repeats of a task.

    The requests of two trials are compared pairwise, as long as the model gave both the same answer.
    """
    first: dict[tuple[str, int | str], list[RecordedReply]] = {}
    found: dict[str, None] = {}
    for trial in run.each_counted() if run.config.repeat > 1 else ():
        replies = list(_replies(trial, run.config, Counter(), ignored))
        before = first.setdefault((trial.key.framework, trial.key.query_id), replies)
        for one, other in zip(before, replies, strict=False):
            requests = [{**reply.request, "seed": None} for reply in (one, other)]  # each repeat has another seed
            found |= dict.fromkeys(find_masks(*requests))
            if answer_of(one) != answer_of(other):
                break
    return list(found)


def requests_of(trial: TrialResult, cell: RunCell, *also: str) -> Iterator[tuple[ModelCall, dict[str, Any] | None]]:
    """Yield the requests of a trial to the run's model in order, with their canonical form if they are complete.

    Args:
        also: further names of its model.
    """
    names = {cell.told_model, cell.model, *also}
    conversations = KeptResponses()
    for call in sorted(trial.wire.model_calls, key=lambda call: call.started):
        if call.other_model or call.limit or call.fault not in ANSWERED_FAULTS:
            continue
        yield call, None if call.request.endswith(CUT) else _canonical(call, names, conversations)


def _canonical(call: ModelCall, names: set[str], conversations: KeptResponses) -> dict[str, Any] | None:
    request = recorded_request(call)
    if isinstance(request, ResponsesRequest):
        request = ResponsesRequest(request.document)  # a copy, since it continues another conversation in each trial
        conversations.follow(request)
        conversations.keep(request, recorded_answer(call).response, len(call.request) + len(call.response))
    return None if request is None else canonical(request.whole, names)


def _replies(
    trial: TrialResult, config: RunConfig, left_out: Counter[str], ignored: Sequence[str]
) -> Iterator[RecordedReply]:
    asked: Counter[str] = Counter()
    slowed = 0.0 if config.faults is None else read_fault_plan(config.faults).slow_seconds
    for call, request in requests_of(trial, config.cells[0]):
        if call.status != 200 or call.cause is not None:
            left_out["failed"] += 1
        elif request is None or call.response.endswith(CUT):
            left_out["cut"] += 1
        else:
            text = canonical_text(apply_masks(request, ignored))
            yield RecordedReply(
                seed=trial.seed,
                occurrence=asked[text],
                request=json.loads(text),
                body=call.response,
                stream=call.stream,
                duration=_duration(call, slowed) if call.recorded is None else call.recorded,
                dialect=call.dialect,
            )
            asked[text] += 1


def _duration(call: ModelCall, slowed: float) -> float:
    """Return the seconds that the model took, without a fault's delay. The wait for a turn includes that delay."""
    return max(0.0, call.duration - max(call.waited, slowed if call.fault else 0.0))


@dataclass(frozen=True)
class Following:
    """One trial compared with a recording.

    Attributes:
        requests: the number of its requests.
        left: the number of the first unrecorded request, from 1; None if all were recorded.
        difference: the difference of that request from the most similar recorded one; None without a similar one.
    """

    key: TrialKey
    requests: int
    left: int | None = None
    difference: RequestDifference | None = None


def followings(run: StoredRun, cassettes: Mapping[str, Cassette]) -> Iterator[Following]:
    """Compare each trial of a run with a recording, framework by framework, in the order of the queries.

    Args:
        cassettes: the recording for each framework. Other frameworks are skipped.
    """
    for trial in run.each_counted():
        cassette = cassettes.get(trial.key.framework)
        if cassette is not None:
            yield _following(trial, run, cassette)


def _following(trial: TrialResult, run: StoredRun, cassette: Cassette) -> Following:
    key = trial.key
    found = requests_of(trial, run.config.cell(trial.key.framework), cassette.told, cassette.model)
    requests = [None if request is None else apply_masks(request, cassette.ignored) for _, request in found]
    answered: Counter[str] = Counter()
    for number, request in enumerate(requests, 1):
        text = canonical_text(request or {})
        if request is None or cassette.find(text, seed=trial.seed, occurrence=answered[text]) is None:
            return Following(key, len(requests), number, _difference(request, trial.seed, cassette))
        answered[text] += 1
    return Following(key, len(requests))


def _difference(request: dict[str, Any] | None, seed: int, cassette: Cassette) -> RequestDifference | None:
    if request is None:
        return None
    candidate = nearest(request, (reply.request for reply in cassette.of_seed(seed)))
    return None if candidate is None else next(differences(candidate, request), None)


def by_difference(trials: Sequence[Following]) -> list[tuple[Following, int]]:
    """Return the first trial for each difference from the recording and the number of these, most frequent first."""
    first: dict[RequestDifference | None, Following] = {}
    counts: Counter[RequestDifference | None] = Counter()
    for trial in trials:
        if trial.left is not None:
            first.setdefault(trial.difference, trial)
            counts[trial.difference] += 1
    return [(first[difference], count) for difference, count in counts.most_common()]
