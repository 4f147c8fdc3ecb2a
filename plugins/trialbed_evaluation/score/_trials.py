"""Scores the trials of a stored run by metrics of conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trialbed.cli.options import print_json
from trialbed.errors import UsageError
from trialbed_evaluation.judge_settings import settings_of
from trialbed_evaluation.score import _files
from trialbed_evaluation.score._rules import check_used

if TYPE_CHECKING:
    from trialbed_evaluation.conversations import Sample


def score(target: str, given: Mapping[str, Any]) -> int:
    """Score a stored run by the metrics that are asked for, one framework after the other, and print the results.

    Nothing is stored. Trials that were not measured are left out; those that failed made no calls that count.

    Returns:
        The exit code: 1 if a mean is below its threshold, 3 if nothing could be scored or the model failed.

    Raises:
        UsageError, DataError: the run does not exist, its dataset cannot be read, or an option is wrong.
    """
    import asyncio

    if given["reference"] is not None:
        raise UsageError("--reference is about files; a run is compared with its queries' expected calls")
    _files.least_means(given)
    run_id, found = _samples(target, given)
    if not found:
        raise UsageError(f"run {run_id} has no measured trials")
    settings = _files.settings(given)
    check_used(settings.rules, [sample for samples in found.values() for sample in samples], settings.tools)
    scored = {
        framework: asyncio.run(_files.score_all(samples, given, settings)) for framework, samples in found.items()
    }
    if given["as_json"]:
        documents = [_files.document(f"{run_id} {name}", *results) for name, results in scored.items()]
        print_json(documents)
    else:
        for name, results in scored.items():
            _files.print_results(f"{run_id} {name}", *results)
    return max(_files.exit_code(summaries, _files.thresholds(given, summaries)) for _, summaries in scored.values())


def _samples(target: str, given: Mapping[str, Any]) -> tuple[str, dict[str, list[Sample]]]:
    """Return the run's id, and the samples of each framework."""
    from trialbed.catalogs import run_queries
    from trialbed.settings import store_file
    from trialbed.store import open_store, require_frameworks
    from trialbed.tool_calls import unasked_calls
    from trialbed_evaluation.metrics import trial_sample

    folder = settings_of(given, ["data_dir"]).data_dir
    found: dict[str, list[Sample]] = {}
    with open_store(given["store"] or store_file()) as reader:
        run = require_frameworks(reader.run(target))
        queries = run_queries(run.config, folder)
        for trial in run.trials():
            if trial.status == "not measured":
                continue
            key, tools = trial.key, run.tools(trial.key.query_id, trial.key.framework)
            name = f"{key.query_id}" if run.config.repeat == 1 else f"{key.query_id} repeat {key.repeat}"
            sample = trial_sample(
                queries[key.query_id],
                tools,
                trial.wire,
                trial.answer if trial.status == "answered" else None,
                unasked=unasked_calls(trial.wire, tools),
                name=name,
                place=f"bench show {run.run_id} {trial.token}",
            )
            found.setdefault(key.framework, []).append(sample)
    return run.run_id, found
