"""``bench fidelity``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FILE, json_option, option
from trialbed.cli.setting_options import setting_option
from trialbed_adapter_lab.report_command import (
    FORMATS,
    choose_parts,
    output_option,
    part_option,
    print_report,
    read_report,
    show_steps,
    write_report,
)

if TYPE_CHECKING:
    from trialbed_adapter_lab.fidelity import FidelityReport

EPILOG = """\b
Examples:
  bench fidelity -f langgraph
  bench fidelity -f langgraph --part schemas --part prompt
  bench fidelity -f langgraph --output fidelity.json
  bench fidelity --from fidelity.json --format markdown > fidelity.md
  bench fidelity -f langgraph --profile native --profile controlled --part errors
"""


@click.command("fidelity", epilog=EPILOG)
@option(
    "-f",
    "--framework",
    "frameworks",
    multiple=True,
    metavar="NAME[:PROFILE][==VERSION]",
    help="Framework to measure, or a release of it; repeatable.",
)
@setting_option("profiles")
@part_option("Measure only this part; repeatable. [default: all parts]")
@format_option(*FORMATS)
@output_option("Write the figures to this file, as JSON.")
@option(
    "--from",
    "source",
    envvar=None,
    type=FILE,
    help="Show the figures in this file, written by --output, without measuring; with --part, those of these parts.",
)
@yes_option
@env_dir_option
@json_option
def command(source: Path | None, form: str | None, as_json: bool, **given: Any) -> int:
    """Measure what frameworks do to the traffic between model and tools.

    Each framework gets the same scripted traffic as the reference loop, which is always measured too. The
    tool schemas, prompts, requests, settings, parallel calls and limits that it sends are compared with those that it
    got. Only observed figures are shown. Exits with 1 if a part
    could not be measured for a framework. If it is interrupted, it shows the figures so far.
    """
    from trialbed.errors import NothingMeasured
    from trialbed_adapter_lab.fidelity.views import report_tables

    form, output = chosen_format(form, as_json=as_json), given.pop("output")
    report, interrupted = (_read(source, given["parts"]), False) if source else _run_measurement(given)
    if output is not None:
        write_report(output, report)
    print_report(report, form, report_tables)
    if interrupted:
        raise click.Abort
    if report.empty:
        raise NothingMeasured("nothing could be measured; see the reasons above")
    return 0 if report.complete else 1


def _run_measurement(given: dict[str, Any]) -> tuple[FidelityReport, bool]:
    """Measure, and return the report and whether the measurement was interrupted.

    Raises:
        click.Abort: it was interrupted before anything was measured.
    """
    import asyncio

    from trialbed.cli.environments import chosen_environments
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.environments import expand_profiles
    from trialbed_adapter_lab.fidelity import FidelityOptions, measure

    asked = tuple(dict.fromkeys(given["frameworks"]))
    needed = [name for name in asked if name != "reference"]
    built = chosen_environments(needed, yes=given["yes"], env_dir=given["env_dir"])
    labels = expand_profiles(asked, given["profiles"], built)
    environments = {label: built[framework] for label, framework in labels.items() if framework in built}
    parts = choose_parts(given["parts"])
    options = FidelityOptions(frameworks=tuple(labels), parts=parts, environments=environments)
    partly: list[FidelityReport] = []

    async def run() -> FidelityReport:
        with cancel_on_terminate(), show_steps() as on_step:
            return await measure(options, on_step, partly.append)

    try:
        return asyncio.run(run()), False
    except (asyncio.CancelledError, KeyboardInterrupt):
        if not partly or partly[0].empty:
            raise click.Abort from None
        return partly[0], True


def _read(path: Path, parts: Sequence[str]) -> FidelityReport:
    """Return the figures in a file, or those of some parts."""
    from trialbed.errors import DataError
    from trialbed_adapter_lab.fidelity import FidelityReport

    report = read_report(FidelityReport, path, "bench fidelity")
    if absent := [part for part in parts if part not in report.conditions.parts]:
        there = ", ".join(report.conditions.parts)
        raise DataError(f"{path}: has no figures of the part {absent[0]}; it has those of {there}")
    return report.of_parts(choose_parts(parts))
