"""``bench releases``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.environments import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FOLDER, json_option, option
from trialbed.cli.setting_options import setting_option
from trialbed_adapter_lab.report_command import (
    FORMATS,
    choose_parts,
    output_option,
    part_option,
    print_report,
    show_steps,
    write_report,
)

if TYPE_CHECKING:
    from trialbed_adapter_lab.releases import KnownReleases, ReleaseFolder, ReleaseMeasurement, ReleasesReport, Wanted

EPILOG = """\b
Examples:
  bench releases langgraph --most 8 --yes
  bench releases langgraph --most 8 --narrow --yes
  bench releases langgraph --from 1.1.0 --to 1.1.9 --yes
  bench releases crewai --most 4 --part errors --yes -o crewai.json
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
@option(
    "--from", "first", envvar=None, type=ReleaseVersion(), help="Oldest release. [default: that the adapter allows]"
)
@option("--to", "last", envvar=None, type=ReleaseVersion(), help="Newest release. [default: that the adapter allows]")
@option(
    "--most",
    type=click.IntRange(min=1),
    envvar=None,
    help="Measure at most so many, spread evenly from the oldest to the newest. [default: all]",
)
@option(
    "--narrow",
    is_flag=True,
    envvar=None,
    help="Then measure those between two that differ, until each change is exact.",
)
@option(
    "--newer",
    is_flag=True,
    envvar=None,
    help="Measure and show only those newer than the newest that --newer has shown, or else was measured, beside it.",
)
@option("--kept", is_flag=True, envvar=None, help="Measure nothing; show the releases of the folder.")
@setting_option("profiles")
@part_option("Measure only this part of bench fidelity; repeatable. [default: all of these]")
@option("--adapter", envvar=None, default="", metavar="REQUIREMENT", help="Installs the adapter, if it is elsewhere.")
@option(
    "--folder", type=FOLDER, default=Path("releases"), envvar=None, help="Where releases are kept, with their locks."
)
@option(
    "--fail-if-changed",
    is_flag=True,
    envvar=None,
    help="Exit with 1 if a release changes something that was measured now, or that --newer shows.",
)
@format_option(*FORMATS)
@output_option("Write the report to this file, as JSON.")
@yes_option
@env_dir_option
@json_option
def command(framework: str, form: str | None, as_json: bool, **given: Any) -> int:
    """Show how a framework changes over its releases.

    The package index is asked which releases there are within the range that the adapter allows. Each gets an
    environment of its own, in which the parts of bench fidelity are measured, without times. Each is kept,
    with the lock of its environment; a release that this state of the kit measured is not measured again. Printed are
    the changes from each release to the next. Exits with 1 if a release could not be measured.
    """
    from trialbed_adapter_lab.releases import ReleaseFolder, report_tables

    form, output, fail = chosen_format(form, as_json=as_json), given.pop("output"), given.pop("fail_if_changed")
    _check(framework)
    folder = ReleaseFolder(given["folder"], framework)
    report, new = _report(folder, given)
    if output is not None:
        write_report(output, report, exclude_defaults=True)
    print_report(report, form, report_tables)
    if given["newer"] and not given["kept"] and report.measured:
        # Only now: a command that was stopped before leaves to the next one to show them.
        folder.keep_watched(report.measured[-1])
    return _exit_code(report, new if fail else ())


def _check(framework: str) -> None:
    """Refuse a profile, a release, and a framework that cannot have any.

    Raises:
        UsageError: says which option is meant.
    """
    from trialbed.environments import FrameworkSpec, check_name
    from trialbed.errors import UsageError

    spec = FrameworkSpec.parse(framework)
    if framework != spec.name:
        raise UsageError(f"{framework}: write {spec.name}; --from and --to choose releases, and --profile profiles")
    check_name(spec)


def _report(folder: ReleaseFolder, given: dict[str, Any]) -> tuple[ReleasesReport, list[str]]:
    """Measure those that are still open; return the report, and the releases that are new in it.

    Raises:
        click.Abort: it was interrupted; the releases measured until then are kept.
    """
    import asyncio

    from trialbed_adapter_lab.releases import report_on

    wanted = _read_choice(folder, given)
    if wanted.newer and not given["kept"]:
        folder.keep_watched(wanted.first)
    try:
        new = [] if given["kept"] else asyncio.run(_measure(folder, wanted, given))
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise click.Abort from None
    report = report_on(folder, wanted)
    return report, report.measured if wanted.newer else new


def _read_choice(folder: ReleaseFolder, given: dict[str, Any]) -> Wanted:
    from trialbed_adapter_lab.releases import Wanted

    wanted = Wanted(first=given["first"] or "", last=given["last"] or "", most=given["most"] or 0)
    return folder.only_newer(wanted) if given["newer"] else wanted


async def _measure(folder: ReleaseFolder, wanted: Wanted, given: dict[str, Any]) -> list[str]:
    from packaging.specifiers import SpecifierSet

    from trialbed.cli._build_progress import build_progress
    from trialbed.cli.environments import environment_store
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed.settings import make_folder
    from trialbed_adapter_lab.releases import (
        Progress,
        ReleaseMeasurement,
        choose,
        kit_digest,
        measure_releases,
        release_between,
        report_on,
    )

    framework, parts = folder.framework, choose_parts(given["parts"])
    how = ReleaseMeasurement(
        framework=framework,
        profiles=tuple(dict.fromkeys(given["profiles"])) or ("native", "controlled"),
        parts=parts,
        kit=kit_digest(framework, parts, given["adapter"]),
        store=environment_store(given["env_dir"]),
        adapter=given["adapter"],
    )
    make_folder(how.store.folder, "--env-dir", shared=True)
    with cancel_on_terminate(), show_steps() as on_step:
        known = await _ask_index(how, folder)
        chosen = choose(known.published, SpecifierSet(known.allowed), wanted)
        releases = [one for one in chosen if folder.find(one.version, how.kit) is None]
        before = len(chosen) - len(releases)
        click.echo(f"{framework}: {len(chosen)} releases chosen, {before} measured before", err=True)
        if releases:
            _ask_consent(how, [one.version for one in releases], yes=given["yes"], narrow=given["narrow"])
        progress = Progress(line=lambda text: click.echo(text, err=True), step=on_step, building=build_progress)
        measured = await measure_releases(how, releases, folder, progress)
        while given["narrow"] and (release := release_between(report_on(folder, wanted))):
            between = [one for one in known.published if one.version == release]
            if not measured:  # and so nobody was asked yet
                _ask_consent(how, [release], yes=given["yes"], narrow=True)
            measured += await measure_releases(how, between, folder, progress)
    return [one.release for one in measured]


async def _ask_index(how: ReleaseMeasurement, folder: ReleaseFolder) -> KnownReleases:
    """Return the releases that the index has, and keep the list."""
    from trialbed.environments import BuildRequest, FrameworkSpec
    from trialbed_adapter_lab.releases import known_releases

    known = await known_releases(BuildRequest(FrameworkSpec.parse(how.framework), how.adapter), how.store)
    folder.keep_known(known)
    return known


def _ask_consent(how: ReleaseMeasurement, releases: Sequence[str], *, yes: bool, narrow: bool) -> None:
    from trialbed.errors import EnvironmentFailed, UsageError

    names = ", ".join(releases) + (" and releases between two that differ" if narrow else "")
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{how.framework} {names}: each needs an environment, and there is no terminal to ask whether to build "
            "them: give --yes"
        )
    question = f"Build an environment each for {how.framework} {names} with uv in {how.store.folder}"
    if not click.confirm(f"{question}, one after the other, and measure it (minutes each)?", err=True):
        raise EnvironmentFailed(f"{how.framework} {names}: not measured")


def _exit_code(report: ReleasesReport, new: Sequence[str]) -> int:
    """Return 1 if a release could not be measured, or one of the new ones changes something.

    Raises:
        NothingMeasured: none was measured.
    """
    from trialbed.errors import NothingMeasured

    if not report.measured:
        raise NothingMeasured(f"no release of {report.framework} was measured; see the reasons above")
    changed = any(change.release in new for change in report.changes)
    return 1 if changed or any(row.failure for row in report.releases) else 0
