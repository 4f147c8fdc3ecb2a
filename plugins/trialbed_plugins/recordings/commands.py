"""The commands ``bench record`` and ``bench replay``."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FILE, json_option, plain_option, print_json
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.store import StoredRun
    from trialbed_plugins.recordings._of_run import Following


EPILOG = """\b
Examples:
  bench record latest -o small-model.cassette
  bench record latest -o small-model.cassette --ignore time --ignore '$.messages[0].content'
  bench run --model replay:small-model.cassette --framework langgraph
"""


def _masks(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from trialbed_plugins.recordings._requests import MASK, WORDS

    if wrong := [value for value in values if not MASK.fullmatch(value)]:
        raise click.BadParameter(
            f"{wrong[0]!r} is neither {', '.join(WORDS)} nor the path of a field, such as $.messages[0].content"
        )
    return tuple(dict.fromkeys(values))


@click.command("record", epilog=EPILOG)
@click.argument("run_id", metavar="RUN")
@plain_option("-o", "--output", type=FILE, required=True, metavar="FILE", help="File of the recording.")
@plain_option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="time|uuid|order|PATH",
    callback=_masks,
    help="Part of requests to ignore: times, UUIDs, the order of tools, or a field by its JSON path; repeatable.",
)
@store_option
@json_option
def record_command(run_id: str, output: Path, ignored: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """Write the answers of a run's model to a file.

    `bench run --model replay:FILE` answers with it. The file has the requests, the answers and the times, without keys.
    It needs neither the model nor the store, and the same run always gives the same file. If repeats sent different
    requests, for example with the time in a prompt, the command prints the --ignore that makes them equal.
    """
    from trialbed.store import open_run
    from trialbed_plugins.recordings._cassette import write_cassette
    from trialbed_plugins.recordings._of_run import compare_repeats, recording_of

    run = open_run(run_id, store)
    cassette, left_out = recording_of(run, ignored)
    varies = compare_repeats(run, ignored)
    write_cassette(cassette, Path(output))
    left = {name: left_out[name] for name in LEFT_OUT}
    if as_json:
        found = {"file": str(output), "model": cassette.model, "digest": cassette.digest}
        print_json(found | {"answers": len(cassette.replies), "ignored": list(ignored), "varies": varies} | left)
        return
    answers = number_of(len(cassette.replies), "answer")
    click.echo(f"written: {output} ({answers} of {cassette.model}, digest {cassette.digest[:16]})")
    for name, count in left.items():
        if count:
            click.echo(LEFT_OUT[name].format(count), err=True)
    if varies:
        options = " ".join(f"--ignore {shlex.quote(one)}" for one in [*ignored, *varies])
        click.echo(
            "repeats of a task sent different requests, which a replay would not find; to ignore what differs:\n"
            f"  bench record {run_id} -o {shlex.quote(str(output))} {options}",
            err=True,
        )


LEFT_OUT = {
    "conflicts": "left out: {} answers to requests that another framework sent too, and got another answer to; "
    "a replay gives both the first one",
    "cut": "left out: {} requests whose body or answer is longer than the log keeps",
    "failed": "left out: {} requests that the model did not answer",
}


REPLAY_EPILOG = """\b
Examples:
  bench replay latest
  bench replay latest --recording small-model.cassette
  bench replay 20261121T231039-52d790 --recording 20261120T090211-0c4b1e --json
"""

SHOWN = 5
"""Differences of a framework to show."""

SCHEME = "replay:"


@click.command("replay", epilog=REPLAY_EPILOG)
@click.argument("run_id", metavar="RUN", default="latest")
@plain_option(
    "--recording",
    metavar="FILE|RUN",
    help="Recording that the run's requests are compared with. [default: the one that answered the run]",
)
@store_option
@json_option
def replay_command(run_id: str, recording: str | None, store: str | None, as_json: bool) -> None:
    """Show which trials follow a recording, and where others depart from it.

    Compare any run with any recording of the same tasks and seed, for example a later release of a framework with an
    earlier one. The first difference is between the first unrecorded request and the most similar recorded one.
    """
    from trialbed.errors import UsageError
    from trialbed.settings import store_file
    from trialbed.store import open_run
    from trialbed_plugins.recordings._of_run import followings
    from trialbed_plugins.recordings.driver import cassette_named

    run = open_run(run_id, store)
    recordings = _recordings(run, recording)
    if not recordings:
        raise UsageError(f"run {run.run_id} has not used a recording: name one with --recording FILE|RUN")
    named = {name: cassette_named(name, store or store_file()) for name in {*recordings.values()}}
    found = list(followings(run, {framework: named[name] for framework, name in recordings.items()}))
    if as_json:
        print_json([_entry(trial) for trial in found])
        return
    from trialbed.views import printable

    for line in _lines(run, recordings, found):
        click.echo(printable(line))


def _recordings(run: StoredRun, asked: str | None) -> dict[str, str]:
    """Return the recording to compare each framework with. Frameworks with another model have none by default."""
    own = {cell.label: cell.model for cell in run.config.cells}
    if asked is not None:
        return dict.fromkeys(own, asked)
    return {framework: model.removeprefix(SCHEME) for framework, model in own.items() if model.startswith(SCHEME)}


def _entry(trial: Following) -> dict[str, Any]:
    difference = trial.difference
    return {
        "framework": trial.key.framework,
        "query_id": trial.key.query_id,
        "repeat": trial.key.repeat,
        "requests": trial.requests,
        "left_at": trial.left,
        "difference": None if difference is None else difference._asdict(),
    }


def _lines(run: StoredRun, compared: Collection[str], found: Sequence[Following]) -> Iterator[str]:
    from trialbed_plugins.recordings._of_run import by_difference

    for framework in run.config.frameworks:
        if framework not in compared:
            yield f"{_title(run, framework)}: has not used a recording: name one with --recording FILE|RUN"
            continue
        trials = [trial for trial in found if trial.key.framework == framework]
        followed = sum(trial.left is None for trial in trials)
        follow = "follows" if len(trials) == 1 else "follow"
        whole = f"{followed} of {number_of(len(trials), 'trial')}"
        yield f"{_title(run, framework)}: {whole} {follow} the recording to the end"
        ways = by_difference(trials)
        for trial, count in ways[:SHOWN]:
            difference = "nothing like it was recorded" if trial.difference is None else trial.difference.text
            place = f"task {trial.key.query_id}, request {trial.left} of {trial.requests}"
            yield f"  {count} {'leaves' if count == 1 else 'leave'} it, first at {place}: {difference}"
        if len(ways) > SHOWN:
            yield f"  and {len(ways) - SHOWN} further differences: --json has all"


def _title(run: StoredRun, framework: str) -> str:
    version = next((info.version for info in run.frameworks if info.name == framework), "")
    return f"{framework} {version}".rstrip()
