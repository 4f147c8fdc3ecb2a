"""The command ``bench replay``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_option, plain_option, print_json
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.store import StoredRun
    from trialbed_plugins.recordings._following import Following

EPILOG = """\b
Examples:
  bench replay latest
  bench replay latest --recording small-model.cassette
  bench replay 20261121T231039-52d790 --recording 20261120T090211-0c4b1e --json
"""

SHOWN = 5
"""Differences of a framework to show."""

SCHEME = "replay:"


@click.command("replay", epilog=EPILOG)
@click.argument("run_id", metavar="RUN", default="latest")
@plain_option(
    "--recording",
    metavar="FILE|RUN",
    help="Recording that the run's requests are compared with. [default: the one that answered the run]",
)
@store_option
@json_option
def command(run_id: str, recording: str | None, store: str | None, as_json: bool) -> None:
    """Say which trials follow a recording, and where the others leave it.

    Any run can be compared with any recording of the same tasks and seed: a later release of a framework with an
    earlier one, for example. The first difference is that of the first request which was not recorded from the recorded
    one that is most like it.
    """
    from trialbed.errors import UsageError
    from trialbed.settings import store_file
    from trialbed.store import open_run
    from trialbed_plugins.recordings._following import followings
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
    from trialbed_plugins.recordings._following import by_difference

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
