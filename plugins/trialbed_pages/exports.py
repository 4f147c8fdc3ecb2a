"""The command ``bench export``: the trials of a run as lines, as rows of results, or for StableToolBench."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.answers import FINISH, function_name
from trialbed.cli.options import plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import store_option
from trialbed.errors import DataError, UsageError
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.records import ApiCall, Json, Query, ToolSpec, TrialResult
    from trialbed.store import StoredRun

FORMATS = ("jsonl", "results", "stabletoolbench")

EPILOG = """\b
Examples:
  bench export latest --output trials.jsonl
  bench export latest/acme --format results --output acme.jsonl
  bench export latest --format stabletoolbench --output predictions
"""


@click.command("export", epilog=EPILOG)
@click.argument("run")
@plain_option(
    "--format", "form", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="Format of the file."
)
@plain_option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, or folder for stabletoolbench. [default: standard output; predictions]",
)
@store_option
@data_dir_option
def command(run: str, form: str, output: Path | None, store: str | None, data_dir: Path | None) -> None:
    """Write the trials of a run for other programs.

    jsonl has a line for each trial with everything in the store: the scores with their reasons, the answer, and every
    request and call with its body.

    results is for verifications: the rows of their results files, of all vendors or of the one of RUN/VENDOR.

    stabletoolbench is for its evaluators, in its converted format: a folder for each framework (in place of a model)
    with a file for the test set. Failed trials have no ending, which evaluators count as unsolved; unmeasured trials
    are skipped.

    RUN is an id, the beginning of one, or latest. The frameworks need not be installed any more; only stabletoolbench
    needs the dataset.
    """
    from trialbed.catalogs import known_queries
    from trialbed.drivers import load_driver
    from trialbed.settings import data_dir as default_folder
    from trialbed.store import open_store

    with open_store(store) as reader:
        run_id, _, label = run.partition("/")
        found = reader.run(run_id)
        if label and form != "results":
            raise UsageError(f"{run} names one vendor, which only --format results can export; name the run alone")
        if found.status != "finished":
            words = f"INCOMPLETE: run {found.run_id} is {found.status}; trials that are missing are left out"
            click.echo(words, err=True)
        if form == "stabletoolbench":
            _write_folder(found, output or Path("predictions"), data_dir)
            return
        if form == "results":
            _write(load_driver("components", "verification").lines(found, label or None), output, "row")
            return
        queries = known_queries(found.config, data_dir or default_folder())
        _write((f"{json.dumps(value)}\n".encode() for value in trial_lines(found, queries)), output, "trial")


def _write_folder(run: StoredRun, folder: Path, data_dir: Path | None) -> None:
    from trialbed.catalogs import run_queries
    from trialbed.settings import data_dir as default_folder

    written = set()
    for one in export_stabletoolbench(run, run_queries(run.config, data_dir or default_folder()), folder):
        trials = number_of(one.trials, "trial")
        left_out = f"; {one.left_out} that were not measured are left out" if one.left_out else ""
        click.echo(f"written: {one.path} ({trials}{left_out})", err=True)
        written.add(one.framework)
    for framework in run.config.frameworks:
        if framework not in written:
            click.echo(f"not written: no trial of {framework} was measured", err=True)


def trial_lines(run: StoredRun, queries: Mapping[int | str, Query] | None = None) -> Iterator[dict[str, Any]]:
    """Yield an object for each counted trial, with the main settings of the run and everything in the store.

    Args:
        queries: the run's queries by id; None if the dataset is not available.
    """
    config = run.config
    about = {"run_id": run.run_id, "dataset": config.dataset, "test_set": config.test_set, "judge": config.judge}
    for result in run.each_counted():
        query = (queries or {}).get(result.key.query_id)
        annotation = run.annotation_of(result.key)
        yield {
            **about,
            "model": config.cell(result.key.framework).model,
            **result.key.model_dump(),
            "status": result.status,
            "query_text": query.text if query else None,
            "annotation": annotation.words if annotation else None,
            "scores": {score.name: score.value for score in result.scores},
            "trial": result.model_dump(mode="json"),
        }


def _write(lines: Iterator[bytes], output: Path | None, noun: str) -> None:
    from trialbed.files import replacing

    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    try:
        is_special = output.exists() and not output.is_file()
        with output.open("wb") if is_special else replacing(output) as file:
            count = sum(1 for line in lines if file.write(line))
    except OSError as error:
        raise DataError(f"{output} cannot be written: {error.strerror}; name another file with --output") from error
    click.echo(f"written: {output} ({count} {noun}{'s' * (count != 1)})", err=True)


QueryId = int | str


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes:
        trials: how many it holds.
        left_out: how many of the run's were not measured, or not yet.
    """

    framework: str
    path: Path
    trials: int
    left_out: int


def export_stabletoolbench(run: StoredRun, queries: Mapping[QueryId, Query], folder: Path) -> Iterator[Exported]:
    """Write a run as StableToolBench's converted answers to ``{folder}/{framework}/{test set}.json``.

    Every framework is a separate model, and so is every repeat if there are several (``{framework}_r1``). Trials
    that were not measured are left out, failed ones have no ``Finish``. A file is not written without trials.

    Args:
        queries: the run's queries by id.

    Raises:
        DataError: no trial was measured, or a file cannot be written.
    """
    from trialbed.files import replacing
    from trialbed.report import safe_name

    config, is_empty = run.config, True
    for framework, trials in groupby(run.each_counted(), lambda result: result.key.framework):
        answers: dict[int, dict[str, Any]] = {}
        for result in trials:
            if result.status != "not measured":
                text = queries[result.key.query_id].text
                answer = converted_answer(text, run.tools_of(result), result)
                answers.setdefault(result.key.repeat, {})[str(result.key.query_id)] = answer
        for repeat, found in sorted(answers.items()):
            name = framework if config.repeat == 1 else f"{framework}_r{repeat}"
            path = folder / safe_name(name) / f"{safe_name(config.test_set)}.json"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as file:
                    file.write(f"{_json(found)}\n".encode(errors="backslashreplace"))
            except OSError as error:
                message = f"{path} cannot be written: {error.strerror}; name another folder with --output"
                raise DataError(message) from error
            is_empty = False
            yield Exported(framework, path, len(found), len(config.query_ids) - len(found))
    if is_empty:
        raise DataError(
            f"run {run.run_id} is {run.status} and has no trial that was measured: there is nothing to write"
        )


MAX_CALLS = 200
"""Calls of a trial that are written; the graph has two levels of nesting for each."""

FINISH_FUNCTION: dict[str, Any] = {
    "name": FINISH,
    "description": "Ends the task, with the final answer for the user or by giving up.",
    "parameters": {
        "type": "object",
        "properties": {
            "return_type": {"type": "string", "enum": ["give_answer", "give_up_and_restart"]},
            "final_answer": {"type": "string", "description": "What the user is shown."},
        },
        "required": ["return_type"],
    },
}


def converted_answer(text: str, tools: Sequence[ToolSpec], result: TrialResult) -> dict[str, Any]:
    """Return a trial as one entry of a file of converted answers.

    It has the server's calls in order, with its responses. There is a ``Finish`` only if the trial
    ended with an answer or by giving up, because evaluators should count any other trial as unsolved.

    Args:
        text: the query's text.
        tools: on offer to the agent.

    Returns:
        ``{"query", "available_tools", "answer": {"method", "total_steps", "final_answer", "answer_details"}}``.
    """
    answer = result.outcome.answer
    finished = result.status == "answered" and answer is not None and answer.finish is not None
    final = _json({"return_type": answer.finish, "final_answer": answer.final_answer}) if answer and finished else ""
    steps = [_step("system", ""), _step("user", ""), *map(_called, result.wire.api_calls[:MAX_CALLS])]
    if finished:
        steps.append(_step("tool", {"name": FINISH, "arguments": final, "response": ""}))
    return {
        "query": text,
        "available_tools": [*map(_function, tools), FINISH_FUNCTION],
        "answer": {
            "method": result.key.framework,
            "total_steps": len(steps),
            "final_answer": final,
            "answer_details": _chain(steps),
        },
    }


def _called(call: ApiCall) -> dict[str, Any]:
    error = call.error or ("" if call.status == 200 else f"HTTP status {call.status}")
    response = _json({"error": error, "response": "" if call.response is None else call.response})
    arguments = call.arguments if isinstance(call.arguments, str) else _json(call.arguments)
    return _step(
        "tool",
        {"name": function_name(call.api.tool_name, call.api.api_name), "arguments": arguments, "response": response},
    )


def _step(role: str, message: Json) -> dict[str, Any]:
    return {"role": role, "message": message, "next": []}


def _chain(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps, each nested in the previous one."""
    chain: list[dict[str, Any]] = []
    for step in reversed(list(steps)):
        chain = [{**step, "next": chain}]
    return chain


def _function(tool: ToolSpec) -> dict[str, Any]:
    properties = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    return {
        "name": function_name(tool.api.tool_name, tool.api.api_name),
        "description": tool.description,
        "parameters": {
            "type": "object",
            "properties": {name: _property(schema) for name, schema in properties.items()},
            "required": required,
            "optional": [name for name in properties if name not in required],
        },
    }


def _property(schema: Any) -> dict[str, Any]:
    known = schema if isinstance(schema, dict) else {}
    found = {"type": known.get("type", "string"), "description": known.get("description", "")}
    return {**found, "example_value": known["default"]} if "default" in known else found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
