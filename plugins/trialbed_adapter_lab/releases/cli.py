"""``bench releases``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FOLDER, json_option, option, plain_option
from trialbed.cli.setting_options import setting_option
from trialbed_adapter_lab.report_command import (
    FORMATS,
    choose_themes,
    output_option,
    print_report,
    theme_option,
    write_report,
)

if TYPE_CHECKING:
    from trialbed_adapter_lab.releases import PublishedRelease, ReleaseFolder, ReleaseMeasurement, Wanted

EPILOG = """\b
Examples:
  bench releases langgraph --most 8 --yes
  bench releases langgraph --most 8 --narrow --yes
  bench releases langgraph --from 1.1.0 --to 1.1.9 --yes
  bench releases crewai --most 4 --part faults --yes -o crewai.json
  bench releases langgraph --newer --fail-if-changed --yes
  bench releases langgraph --kept --format markdown
"""


class ReleaseVersion(click.ParamType[str]):
    """A version, as packages have it."""

    name = "VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The version in its usual form."""
        from packaging.version import InvalidVersion, Version

        try:
            return str(Version(str(value))) if value else ""
        except InvalidVersion:
            self.fail(f"{value!r} is not a version, such as 1.2.11.", param, ctx)


@click.command("releases", epilog=EPILOG)
@click.argument("framework")
@plain_option("--from", "first", type=ReleaseVersion(), help="Oldest release. [default: that the adapter allows]")
@plain_option("--to", "last", type=ReleaseVersion(), help="Newest release. [default: that the adapter allows]")
@plain_option(
    "--most",
    type=click.IntRange(min=1),
    help="Measure at most this many, spread evenly from the oldest to the newest. [default: all]",
)
@plain_option("--narrow", is_flag=True, help="Then measure those between two that differ, until each change is exact.")
@plain_option(
    "--newer",
    is_flag=True,
    help="Measure and show only those newer than the newest that --newer has shown, or else was measured, beside it.",
)
@plain_option("--kept", is_flag=True, help="Measure nothing; show the releases of the folder.")
@setting_option("profiles")
@theme_option("Measure only this part of the probes; repeatable. [default: all parts]")
@option("--adapter", envvar=None, default="", metavar="REQUIREMENT", help="Installs the adapter, if it is elsewhere.")
@option(
    "--folder", type=FOLDER, default=Path("releases"), envvar=None, help="Where releases are kept, with their locks."
)
@plain_option(
    "--fail-if-changed",
    is_flag=True,
    help="Exit with 1 if a release changes something that was measured now, or that --newer shows.",
)
@format_option(*FORMATS)
@output_option("Write the report to this file, as JSON.")
@yes_option
@env_dir_option
@json_option
def command(framework: str, form: str | None, as_json: bool, **given: Any) -> int:
    """Show how a framework changes over its releases.

    The package index is asked which releases there are within the range that the adapter allows. Each gets its own
    environment, in which every probe of the conformance kit is run. Each is kept, with the lock of its environment; a
    release that this state of the kit measured is not measured again. Printed are the changes from each release to the
    next, without times. Exits with 1 if a release could not be measured.
    """
    import asyncio

    from trialbed.environments import FrameworkSpec, check_name
    from trialbed.errors import NothingMeasured, UsageError
    from trialbed_adapter_lab.releases import ReleaseFolder, Wanted, report_on, report_tables

    form, output, kept = chosen_format(form, as_json=as_json), given["output"], given["kept"]
    spec = FrameworkSpec.parse(framework)
    if framework != spec.name:
        raise UsageError(f"{framework}: write {spec.name}; --from and --to choose releases, and --profile profiles")
    check_name(spec)
    if kept and given["newer"]:
        raise UsageError("--newer measures and --kept does not; leave one out")
    folder = ReleaseFolder(given["folder"], framework)
    if kept and not any(folder):
        raise NothingMeasured(f"{folder.folder}: nothing was measured yet; run bench releases {framework} --most 4")
    wanted = Wanted(first=given["first"] or "", last=given["last"] or "", most=given["most"] or 0)
    wanted = folder.only_newer(wanted) if given["newer"] else wanted
    if wanted.newer:
        folder.keep_watched(wanted.first)
    try:
        new = [] if kept else asyncio.run(_measure(folder, wanted, given))
    except (asyncio.CancelledError, KeyboardInterrupt):
        # The releases measured until then are kept.
        raise click.Abort from None
    report = report_on(folder, wanted)
    if output is not None:
        write_report(output, report)
    print_report(report, form, report_tables)
    if not report.measured:
        why = "could be measured; see the reasons above" if report.releases else "in this range was measured yet"
        raise NothingMeasured(f"no release of {framework} {why}")
    if given["newer"]:
        # Only now: a command that was stopped before leaves to the next one to show them.
        folder.keep_watched(report.measured[-1])
    new = report.measured if wanted.newer else new
    changed = given["fail_if_changed"] and any(change.release in new for change in report.changes)
    return 1 if changed or any(row.failure for row in report.releases) else 0


async def _measure(folder: ReleaseFolder, wanted: Wanted, given: dict[str, Any]) -> list[str]:
    """Measure those that are still open, and return them."""
    from trialbed.cli.environments import environment_store
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.environments import BuildRequest, FrameworkSpec
    from trialbed.settings import make_folder
    from trialbed.texts import number_of
    from trialbed_adapter_lab.releases import (
        ReleaseMeasurement,
        choose,
        known_releases,
        measure_releases,
        release_between,
        report_on,
    )

    how = ReleaseMeasurement(
        framework=folder.framework,
        profiles=tuple(dict.fromkeys(given["profiles"])) or ("native", "controlled"),
        themes=choose_themes(given["parts"]),
        store=environment_store(given["env_dir"]),
        adapter=given["adapter"],
    )
    make_folder(how.store.folder, "--env-dir", shared=True)
    with cancel_on_terminate():
        known = await known_releases(BuildRequest(FrameworkSpec.parse(how.framework), how.adapter), how.store)
        folder.keep_known(known)
        chosen = choose(known, wanted)
        releases = [one for one in chosen if folder.find(one.version, how.kit) is None]
        counts = f"{number_of(len(chosen), 'release')} chosen, {len(chosen) - len(releases)} measured before"
        click.echo(f"{how.framework}: {counts}", err=True)
        measured: list[str] = []

        def next_between() -> list[PublishedRelease]:
            between = release_between(report_on(folder, wanted)) if given["narrow"] else ""
            return [one for one in known.published if one.version == between]

        while releases := releases or next_between():
            if not (given["yes"] or measured):
                _ask_consent(how, [one.version for one in releases], narrow=given["narrow"])
            measured += [one.release for one in await measure_releases(how, releases, folder)]
            releases = []
    return measured


def _ask_consent(how: ReleaseMeasurement, releases: Sequence[str], *, narrow: bool) -> None:
    from trialbed.errors import EnvironmentFailed, UsageError

    names = f"{how.framework} {', '.join(releases)}{' and releases between two that differ' if narrow else ''}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{names}: each needs an environment, and there is no terminal to ask whether to build them: give --yes"
        )
    question = f"Build an environment each for {names} with uv in {how.store.folder}"
    if not click.confirm(f"{question}, one after the other, and measure it (minutes each)?", err=True):
        raise EnvironmentFailed(f"{names}: not measured")
