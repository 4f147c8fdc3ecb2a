"""Frameworks as users name them, their profiles, and the distributions that these names stand for.

An adapter with profiles has one entry point per profile, ``NAME:PROFILE``; any other has one, ``NAME``. Nothing of an
adapter is imported.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from typing import Self

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from trialbed.drivers import GROUPS, driver_info, list_drivers
from trialbed.environments._distributions import (
    OWN,
    DirectUrl,
    direct_url,
    folder_line,
    installed_distribution,
    is_editable,
    local_path,
    package_folders,
    requirement_of,
    vcs_line,
    without_credentials,
)
from trialbed.errors import UsageError
from trialbed.installed import Offer
from trialbed.records import (
    CONTROLLED,
    NATIVE,
    PIN,
    PROFILE,
    Environment,
    framework_driver,
    framework_name,
    framework_package,
    framework_profile,
    framework_release,
    with_profile,
)
from trialbed.suggestions import closest, did_you_mean

DISTRIBUTIONS = "trialbed.distributions"
"""The entry-point group for an adapter's declaration of its framework's own distributions.

The name is a distribution's, and the value the module of the adapter: ``autogen-core = trialbed_autogen``. They are
released together, so a release that is asked for pins them all; the first by name gives the framework's version.
"""

PACKAGES = {
    "agent-framework": ("agent-framework-core",),
    "autogen": ("autogen-agentchat", "autogen-core", "autogen-ext"),
    "pydantic-ai": ("pydantic-ai-slim",),
}
"""The same for frameworks that are published under another name, if the adapter is not installed here."""

COMPANIONS = {"langgraph": (("<1.1.5", "langgraph-prebuilt<1.0.9"),)}
"""Framework -> releases and a further requirement for them, because their own metadata allow newer packages that cannot
be imported with them.
"""

FIRST_PARTY = tuple(sorted(["agno", "crewai", "google-adk", "langgraph", "openai-agents", "smolagents", *PACKAGES]))
"""Frameworks with adapters that are published with Trialbed."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class FrameworkSpec:
    """A framework given by a user, without its profile.

    Attributes:
        text: ``NAME`` or ``NAME==VERSION``.
        release: of the framework; None for any.
    """

    text: str
    name: str
    release: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``NAME[:PROFILE][==VERSION]``.

        Raises:
            UsageError: the text has another form, or the framework has no releases.
        """
        name, profile, release = framework_name(text), framework_profile(text), framework_release(text)
        if (
            not _NAME.fullmatch(name)
            or not _NAME.fullmatch(profile or name)
            or framework_driver(text).endswith(PROFILE)
        ):
            raise UsageError(
                f"{text!r} does not name a framework: write NAME, NAME:PROFILE or NAME==VERSION, "
                "such as langgraph==1.2.11"
            )
        if release is None and text.endswith(PIN):
            raise UsageError(f"{text!r}: the version after '==' is missing; write one, such as langgraph==1.2.11")
        if release is not None:
            try:
                release = str(Version(release))
            except InvalidVersion:
                raise UsageError(
                    f"{text!r}: {release!r} is not a version; write one such as 1.2.11, not a range"
                ) from None
            if any(driver.name == name and driver.distribution == OWN for driver in list_drivers("frameworks")):
                raise UsageError(f"{text!r}: {name} is a part of trialbed and has no releases of its own; write {name}")
        return cls(framework_package(text), name, release)

    @property
    def packages(self) -> tuple[str, ...]:
        """The framework's own distributions, declared by an adapter or else named like the framework."""
        adapter = _installed_adapters().get(self.name)
        here = adapter and declared_distributions(installed_distribution(adapter.distribution), self.name)
        return here or PACKAGES.get(self.name, (self.name,))

    @property
    def pins(self) -> tuple[str, ...]:
        """The requirements that the release stands for."""
        if self.release is None:
            return ()
        companions = [
            line
            for releases, line in COMPANIONS.get(self.name, ())
            if SpecifierSet(releases).contains(self.release, prereleases=True)
        ]
        return (*(f"{package}=={self.release}" for package in self.packages), *companions)


def declared_distributions(adapter: Distribution, name: str) -> tuple[str, ...]:
    """Return the names of the distributions that an adapter declares as its framework's own; may be empty."""
    modules = {
        entry.value.partition(":")[0].partition(".")[0]
        for entry in adapter.entry_points
        if entry.group == GROUPS["frameworks"] and framework_name(entry.name) == name
    }
    declared = (entry for entry in adapter.entry_points if entry.group == DISTRIBUTIONS)
    return tuple(sorted(entry.name for entry in declared if entry.value.partition(".")[0] in modules))


def runs_here(text: str) -> bool:
    """Return whether the framework, and its release if one is asked for, is installed in this interpreter.

    Reads metadata and imports nothing.

    Raises:
        UsageError: the text does not have the form of a framework.
    """
    if framework_package(text) in _installed_adapters() and not text.endswith("=="):
        return True
    spec = FrameworkSpec.parse(text)
    if spec.name not in _installed_adapters() or spec.release is None:
        return False
    try:
        return all(Version(version(package)) == Version(spec.release) for package in spec.packages)
    except PackageNotFoundError:
        return False


def adapter_info(name: str) -> Offer:
    """Return the installed adapter of a framework, which is its driver or a profile's, preferably ``native``.

    Raises:
        DriverNotFound: it is not installed; the message says how to install it.
        DriverError: two distributions offer it.
    """
    drivers = [driver.name for driver in list_drivers("frameworks")]
    profiles = [driver for driver in drivers if driver.startswith(f"{name}{PROFILE}")]
    profiles.sort(key=lambda driver: driver != f"{name}{PROFILE}{NATIVE}")
    driver = profiles[0] if profiles and name not in drivers else name
    known = {*FIRST_PARTY, *map(framework_name, drivers)}
    return driver_info("frameworks", driver, known=known, advice=_how_to_install)


def check_name(spec: FrameworkSpec) -> None:
    """Refuse a name that should get no environment.

    Raises:
        DriverNotFound: it looks like a misspelt name, and anyone could own the package of that name.
        UsageError: the framework is a part of Trialbed.
    """
    adapter = _installed_adapters().get(spec.name)
    if adapter is not None and adapter.distribution == OWN:
        raise UsageError(f"{spec.name} is a part of trialbed and runs where trialbed is installed")
    names = {*FIRST_PARTY, *_installed_adapters()}
    if spec.name not in names and difflib.get_close_matches(spec.name, names, n=1):
        adapter_info(spec.name)


def own_requirement() -> str:
    """Return the requirement that installs the same Trialbed as is running."""
    return requirement_of(installed_distribution(OWN))


def adapter_distribution(name: str) -> str:
    """Return the distribution of a framework's adapter, unless the user names another."""
    return f"trialbed-{name}"


def adapter_requirement(name: str) -> str:
    """Return the requirement for a framework's adapter, from its installation here, else from Trialbed's own origin."""
    installed = _installed_adapters().get(name)
    if installed is not None and canonicalize_name(installed.distribution) != OWN:
        return requirement_of(installed_distribution(installed.distribution))
    return _beside(direct_url(installed_distribution(OWN)), name) or adapter_distribution(name)


def install_command(name: str, *pins: str) -> str:
    """Return the command that installs a framework's adapter together with Trialbed, from Trialbed's own origin."""
    line = without_credentials(adapter_requirement(name))
    editable = line.startswith("-e ")
    place = line.removeprefix("-e ")
    path = local_path(place.rpartition(" @ ")[2])
    return f"pip install {shlex.join([*['-e'] * editable, str(path or place), *pins])}"


def _how_to_install(name: str, close: str | None, installed: Sequence[str]) -> str:
    """Return advice to follow the message that an adapter is not installed."""
    if close is not None and close in map(framework_name, installed):
        return (
            f" If {name} is another framework, say where its adapter is: `bench env add {name} --adapter REQUIREMENT`."
        )
    meant = close or name
    return (
        f" Install an adapter with `{install_command(meant)}`, or into its own environment with "
        f"`bench env add {meant}`."
    )


def _installed_adapters() -> dict[str, Offer]:
    """Return the adapters that are installed here, by framework; the first of a name counts."""
    return {framework_name(driver.name): driver for driver in reversed(list_drivers("frameworks"))}


def _beside(direct: DirectUrl, name: str) -> str | None:
    """Return the adapter next to Trialbed at Trialbed's origin."""
    path = local_path(direct.get("url", ""))
    if "vcs_info" in direct:
        inner = "/".join(filter(None, (direct.get("subdirectory"), "adapters", name)))
        return vcs_line(adapter_distribution(name), direct, inner) if name in FIRST_PARTY else None
    if path is None:
        return None
    if path.is_file():  # a wheel, as in a folder that was built
        wheels = path.parent.glob(f"{adapter_distribution(name).replace('-', '_')}-*.whl")
        newest = max(wheels, key=lambda wheel: parse_wheel_filename(wheel.name)[1], default=None)
        return f"{adapter_distribution(name)} @ {newest.as_uri()}" if newest else None
    folder = path / "adapters" / name
    if not (folder / "pyproject.toml").is_file():
        return None
    return folder_line(adapter_distribution(name), folder.as_uri(), editable=is_editable(direct))


def profiles_of(name: str, environment: Environment | None = None) -> tuple[str, ...]:
    """Return the names of a framework's profiles; empty if its adapter does not have profiles.

    Args:
        environment: the framework's own; None for this interpreter.
    """
    found = {framework_profile(entry) for entry in _entry_names(environment) if framework_name(entry) == name}
    return tuple(sorted(profile for profile in found if profile is not None))


def expand_profiles(
    frameworks: Sequence[str],
    wanted: Sequence[str],
    environments: Mapping[str, Environment],
    live: Collection[str] = (),
) -> dict[str, str]:
    """Return the labels of a run, with each framework once, or once for each wanted profile.

    A framework that names a profile keeps it, and one without profiles keeps its name.

    Args:
        frameworks: ``NAME[:PROFILE][==VERSION]`` each.
        wanted: profiles for frameworks without one; empty for ``native``.
        environments: framework in ``frameworks`` -> its own environment; this interpreter for the others.
        live: labels of agents of this process, which stay unchanged.

    Returns:
        label in the run -> framework in ``frameworks``.

    Raises:
        UsageError: an adapter does not have the profile that is asked for.
        DriverNotFound: it is not installed.
    """
    labels: dict[str, str] = {}
    for asked in frameworks:
        if asked in live:
            labels.setdefault(asked, asked)
            continue
        name, profile, environment = framework_name(asked), framework_profile(asked), environments.get(asked)
        if environment is None:
            adapter_info(name)
        there = profiles_of(name, environment)
        if profile is None and not there:
            labels.setdefault(asked, asked)
            continue
        for one in [profile] if profile is not None else [*wanted] or [NATIVE if NATIVE in there else there[0]]:
            if not there:
                raise UsageError(f"{asked}: {name} has no profiles; write it without {':' + one!r}")
            if one not in there:
                raise UsageError(
                    f"{asked}: unknown profile {one!r}{did_you_mean(closest(one, there))} "
                    f"The profiles of {name} are {', '.join(there)}"
                )
            labels.setdefault(with_profile(asked, one), asked)
    return labels


def check_wanted(labels: Iterable[str], wanted: Sequence[str]) -> None:
    """Refuse a profile that is unknown both in the run's frameworks and in other adapters here.

    Frameworks without profiles ignore the wanted profiles, and nothing else would refuse the name.

    Args:
        labels: of the run's frameworks.

    Raises:
        UsageError: there is no such profile; suggests one.
    """
    entries = (*labels, *_entry_names(None))
    known = {profile for entry in entries if (profile := framework_profile(entry)) is not None}
    known |= {CONTROLLED, NATIVE}
    for profile in wanted:
        if profile not in known:
            close, names = did_you_mean(closest(profile, known)), ", ".join(sorted(known))
            raise UsageError(f"--profile: unknown profile {profile!r}{close} The profiles are {names}")


def _entry_names(environment: Environment | None) -> set[str]:
    if environment is None:
        return {driver.name for driver in list_drivers("frameworks")}
    installed = distributions(path=[str(place) for place in package_folders(environment.python)])
    return {entry.name for item in installed for entry in item.entry_points if entry.group == GROUPS["frameworks"]}
