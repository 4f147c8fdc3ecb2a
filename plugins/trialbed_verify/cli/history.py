"""``bench history``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FILE, json_option, plain_option, print_json
from trialbed.cli.stored import store_option

if TYPE_CHECKING:
    from trialbed_verify.history import VendorHistory

EPILOG = """\b
Examples:
  bench history
  bench history kimi-k2 acme
  bench history kimi-k2 acme --fail-if-changed --json
  bench history --file monday.jsonl --file tuesday.jsonl
"""


@click.command("history", epilog=EPILOG)
@click.argument("model", required=False)
@click.argument("vendor", required=False)
@plain_option(
    "--file",
    "files",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Results of one vendor instead of those in the store; repeatable.",
)
@plain_option(
    "--false-alarms-every",
    type=click.IntRange(min=20),
    default=365,
    show_default=True,
    help="Verifications of an unchanged vendor from one false alarm to the next, on average.",
)
@plain_option("--fail-if-changed", is_flag=True, help="Exit with 1 if the newest verification shows a change.")
@store_option
@json_option
def command(
    model: str | None, vendor: str | None, files: tuple[Path, ...], *, store: str | None, as_json: bool, **given: Any
) -> int:
    """Say whether a vendor's answers changed, and since when.

    Every bench verify is a dated point of the history of its model and vendor. Each point is compared with the earlier
    ones of the same test set and configuration by a sequential test, which may be looked at after every verification.
    Without MODEL and VENDOR, those that have a history are listed.
    """
    from trialbed_verify.documents import as_document

    if not files and (model is None or vendor is None):
        return _list(model, store, as_json=as_json)
    found = _follow(model, vendor, files, store, given["false_alarms_every"])
    if as_json:
        print_json(as_document(found))
    else:
        from trialbed.views import print_tables
        from trialbed_verify.views import history_tables

        print_tables(history_tables(found), sys.stdout)
    return 1 if given["fail_if_changed"] and found.is_changed_now else 0


def _follow(
    model: str | None, vendor: str | None, files: tuple[Path, ...], store: str | None, every: int
) -> VendorHistory:
    from trialbed.store import open_store
    from trialbed_verify.history import follow, points_of_files
    from trialbed_verify.stored import stored_points

    if files:
        if model is not None:
            raise click.UsageError("--file names the results themselves; leave out MODEL and VENDOR")
        return follow(points_of_files(files), every)
    with open_store(store) as reader:
        found = stored_points(reader, str(model), str(vendor))
        if not found:
            raise click.UsageError(
                f"{reader.place} has no verification of {model} at {vendor}; bench history lists those that there are, "
                "and --file names results files"
            )
        return follow(found, every)


def _list(model: str | None, store: str | None, *, as_json: bool) -> int:
    from trialbed.settings import store_file
    from trialbed.store import open_store
    from trialbed_verify.stored import known_vendors

    known: list[tuple[str, str]] = []
    if store is not None or Path(store_file()).exists():
        with open_store(store) as reader:
            known = list(known_vendors(reader))
    models = dict.fromkeys(one for one, _ in known)
    if model is not None and models and model not in models:
        raise click.UsageError(f"no verification of the model {model!r} was recorded; there are {', '.join(models)}")
    known = [pair for pair in known if model in (None, pair[0])]
    if as_json:
        print_json([{"model": one, "vendor": other} for one, other in known])
        return 0
    for one, other in known:
        click.echo(f"{one} {other}")
    if not known:
        click.echo("No verification was recorded here yet; bench verify records each.", err=True)
    return 0
