"""``bench fidelity``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.env import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import json_option
from trialbed.cli.setting_options import setting_option
from trialbed_adapter_lab.report_command import (
    FORMATS,
    choose_themes,
    output_option,
    print_report,
    read_report,
    show_steps,
    theme_option,
    write_report,
)

if TYPE_CHECKING:
    from trialbed_adapter_lab.fidelity import FidelityReport

EPILOG = """\b
Examples:
  bench fidelity langgraph
  bench fidelity langgraph crewai --profile native --profile controlled
  bench fidelity langgraph --part schemas --part faults
  bench fidelity langgraph --output fidelity.json
  bench fidelity fidelity.json --format markdown > fidelity.md
"""


@click.command("fidelity", epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME[:PROFILE][==VERSION]]... | FILE.json")
@setting_option("profiles")
@theme_option("Measure or show only this part; repeatable. [default: all parts]")
@format_option(*FORMATS)
@output_option("Write the findings to this file, as JSON.")
@yes_option
@env_dir_option
@json_option
def command(names: tuple[str, ...], form: str | None, as_json: bool, **given: Any) -> int:
    """Measure how frameworks change the traffic between model and tools.

    Runs every probe of the conformance kit on the adapter of each framework and on the plain loop, and prints one table
    of what was seen. Rows that equal the plain loop everywhere are only counted. A file from --output is shown again,
    without measuring. Exits with 1 if an adapter could not be measured, or a probe not completed. If you interrupt it,
    it shows the adapters measured so far.
    """
    from trialbed.errors import DataError, NothingMeasured, UsageError
    from trialbed_adapter_lab.fidelity import FidelityReport, report_tables

    form, output, interrupted = chosen_format(form, as_json=as_json), given.pop("output"), False
    if files := [name for name in names if name.endswith(".json")]:
        if len(names) > 1:
            raise UsageError(f"{files[0]}: a file is shown alone; leave out the other names")
        report = read_report(FidelityReport, Path(files[0]), "bench fidelity")
        there, parts = report.conditions.themes, given["parts"]
        if absent := [part for part in parts if part not in there]:
            raise DataError(f"{files[0]}: has nothing on {absent[0]}; it has {', '.join(there)}")
        report = report.on_themes([theme for theme in there if theme in parts]) if parts else report
    else:
        report, interrupted = _measure(names, **given)
    if output is not None:
        write_report(output, report)
    print_report(report, form, report_tables)
    if interrupted:
        raise click.Abort
    if report.empty:
        raise NothingMeasured("nothing could be measured; see the reasons above")
    return 0 if report.complete else 1


def _measure(
    names: Sequence[str], profiles: Sequence[str], parts: Sequence[str], yes: bool, env_dir: Path | None
) -> tuple[FidelityReport, bool]:
    """Measure, and return the report and whether the measurement was interrupted.

    Raises:
        click.Abort: it was interrupted before anything was measured.
    """
    import asyncio
    from datetime import UTC, datetime

    from trialbed.cli.env import chosen_environments
    from trialbed.cli.progress import cancel_on_terminate
    from trialbed.environments import expand_profiles
    from trialbed_adapter_lab.fidelity import REFERENCE, FidelityReport, MeasuredAdapter, measure

    asked = tuple(dict.fromkeys((REFERENCE, *names)))
    built = chosen_environments([name for name in asked if name != REFERENCE], yes=yes, env_dir=env_dir)
    environments = {label: built.get(name) for label, name in expand_profiles(asked, profiles, built).items()}
    began, themes, found = datetime.now(UTC), choose_themes(parts), dict[str, MeasuredAdapter]()

    async def run() -> None:
        with cancel_on_terminate(), show_steps() as show:
            await measure(environments, themes, found, show)

    interrupted = False
    try:
        asyncio.run(run())
    except (asyncio.CancelledError, KeyboardInterrupt):
        interrupted = True
    report = FidelityReport.of(found.values(), themes, began)
    if interrupted and all(one.report is None for one in report.adapters):
        raise click.Abort
    return report, interrupted
