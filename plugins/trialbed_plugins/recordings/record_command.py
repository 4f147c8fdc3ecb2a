"""The command ``bench record``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from trialbed.cli.options import FILE, json_option, plain_option, print_json
from trialbed.cli.stored import store_option
from trialbed.texts import number_of

EPILOG = """\b
Examples:
  bench record latest -o small-model.cassette
  bench record latest -o small-model.cassette --ignore time --ignore '$.messages[0].content'
  bench run --model replay:small-model.cassette --framework langgraph
"""


def _masks(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from trialbed_plugins.recordings._mask import MASK, WORDS

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
    help="Part of requests that does not matter: times, UUIDs, the order of tools, or a field by its JSON path; "
    "repeatable.",
)
@store_option
@json_option
def command(run_id: str, output: Path, ignored: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """Write the answers of a run's model to a file.

    `bench run --model replay:FILE` answers with it. The file has the requests, the answers and the times, without keys.
    It needs neither the model nor the store, and the same run always gives the same file. If the run has repeats
    that sent different requests, such as with the time in a prompt, the command names the --ignore that makes them
    equal.
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
