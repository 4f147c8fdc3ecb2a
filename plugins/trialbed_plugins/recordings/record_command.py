"""The command ``bench record``."""

from __future__ import annotations

from pathlib import Path

import click

from trialbed.cli.options import FILE, json_option, plain_option, print_json
from trialbed.cli.stored import store_option
from trialbed.texts import number_of
from trialbed_plugins.recordings._options import model_cache_option

EPILOG = """\b
Examples:
  bench record latest -o small-model.cassette
  bench run --model replay:small-model.cassette --framework langgraph
"""


@click.command("record", epilog=EPILOG)
@click.argument("run_id", metavar="RUN")
@plain_option("-o", "--output", type=FILE, required=True, metavar="FILE", help="File of the recording.")
@store_option
@model_cache_option
@json_option
def command(run_id: str, output: Path, store: str | None, cache: Path | None, as_json: bool) -> None:
    """Write the answers of a run's model to a file.

    `bench run --model replay:FILE` answers with it. The file has the requests, the answers and the times, without keys.
    It needs neither the model nor the store, and the same run always gives the same file.
    """
    from trialbed.settings import model_cache
    from trialbed.store import open_run
    from trialbed_plugins.recordings._cache import cache_there
    from trialbed_plugins.recordings._cassette import write_cassette
    from trialbed_plugins.recordings._of_run import recording_of

    with cache_there(cache or model_cache()) as kept:
        cassette, left_out = recording_of(open_run(run_id, store), kept)
    write_cassette(cassette, Path(output))
    left = {name: left_out[name] for name in LEFT_OUT}
    if as_json:
        found = {"file": str(output), "model": cassette.model, "digest": cassette.digest}
        print_json(found | {"answers": len(cassette.replies)} | left)
        return
    answers = number_of(len(cassette.replies), "answer")
    click.echo(f"written: {output} ({answers} of {cassette.model}, digest {cassette.digest[:16]})")
    for name, count in left.items():
        if count:
            click.echo(LEFT_OUT[name].format(count), err=True)


LEFT_OUT = {
    "conflicts": "left out: {} answers to requests that another framework sent too, and got another answer to; "
    "a replay gives both the first one",
    "cut": "left out: {} requests whose body or answer is longer than the log keeps, and that no model cache has",
    "failed": "left out: {} requests that the model did not answer",
}
