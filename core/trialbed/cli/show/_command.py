"""The command that shows a run or a trial."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from trialbed.cli.formats import RUN_FORMATS, chosen_format, run_format_option
from trialbed.cli.options import json_option, plain_option
from trialbed.cli.setting_options import data_dir_option
from trialbed.cli.stored import legend_option, store_option

EPILOG = """\b
Examples:
  bench show latest
  bench show latest --full
  bench show 20261122T090211 --format markdown
  bench show latest langgraph/17
"""


@click.command("show", epilog=EPILOG)
@click.argument("run")
@click.argument("trial", required=False)
@plain_option("--attempt", type=click.IntRange(min=0), help="Another attempt of the trial than the one that counts.")
@plain_option("--full", is_flag=True, help="Show all of a run, or long texts of a trial in full.")
@run_format_option
@legend_option
@store_option
@data_dir_option
@json_option
def command(
    run: str,
    trial: str | None,
    attempt: int | None,
    full: bool,
    form: str | None,
    legend: bool,
    store: str | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Show a run, or one of its trials as the wire saw it.

    RUN is an id, the beginning of one, or latest. Without TRIAL, a screen shows the result of the run and its
    hardest tasks; --full adds every figure, where calls were lost, all comparisons and the settings. TRIAL is
    FRAMEWORK/TASK or FRAMEWORK/TASK/REPEAT, such as langgraph/17: then everything that the server saw of the trial is
    shown, with what went wrong first, and every score with its reason.
    """
    from trialbed.catalogs import known_queries
    from trialbed.cli.show._naming import named_attempt
    from trialbed.settings import data_dir as default_folder

    form = chosen_format(form, as_json=as_json)
    from trialbed.drivers import load_driver
    from trialbed.store import open_store

    with open_store(store) as reader:
        found = reader.run(run)
        is_verification = found.record.kind == "endpoints"
        ask = partial(known_queries, found.config, data_dir or default_folder())
        if trial is None:
            if attempt is not None:
                raise click.UsageError("--attempt is about one trial; name it, such as langgraph/17")
            if is_verification:
                if form not in RUN_FORMATS:
                    raise click.UsageError(f"--format {form} is for runs of frameworks; this is a verification")
                load_driver("components", "verification").show_run(found, form)
                return
            if form == "html":
                click.echo(load_driver("components", "pages").run_report(found, data_dir=data_dir))
                return
            from trialbed.cli.show._run import show_run

            show_run(found, ask, reporter=form, store=store, as_json=form == "json", legend=legend, full=full)
            return
        if form not in ("table", "json"):
            raise click.UsageError("one trial is shown as a table or as json; leave out --format")
        from trialbed.cli.show._trial import show_trial

        chosen = named_attempt(found, trial, attempt=attempt)
        queries = None if is_verification else ask()
        known = queries.get(chosen.key.query_id) if queries else None
        show_trial(found, chosen, known, full=full, as_json=form == "json")
