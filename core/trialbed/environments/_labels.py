"""Reading what a user calls a framework, and telling whether this interpreter can run it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from packaging.version import InvalidVersion, Version

from trialbed.drivers import DriverInfo, driver_info, list_drivers
from trialbed.environments._known import KNOWN, framework_packages, release_pins
from trialbed.errors import UsageError
from trialbed.records import framework_name, framework_release

OWN = "trialbed"
"""The distribution whose frameworks have no releases of their own."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class Label:
    """A framework as asked for.

    Attributes:
        text: what the user wrote, which is what the run calls it.
        release: of the framework; None for any.
    """

    text: str
    name: str
    release: str | None = None

    @property
    def packages(self) -> tuple[str, ...]:
        """The framework's own distributions."""
        return framework_packages(self.name)

    @property
    def pins(self) -> tuple[str, ...]:
        """The requirements that the release stands for."""
        return release_pins(self.name, self.release) if self.release else ()


def read_label(text: str) -> Label:
    """Take ``NAME`` or ``NAME==VERSION`` apart.

    Raises:
        UsageError: it is neither, or the framework has no releases.
    """
    name, release = framework_name(text).strip(), framework_release(text)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{text!r} names no framework: write NAME or NAME==VERSION, such as langgraph==1.2.11")
    if release is None and text != name:
        raise UsageError(f"{text!r}: a version must stand after '==', such as langgraph==1.2.11")
    if release is not None:
        release = _release(text, release)
        if any(driver.name == name and driver.distribution == OWN for driver in list_drivers("frameworks")):
            raise UsageError(f"{text!r}: {name} is a part of trialbed and has no releases of its own; write {name}")
    return Label(text, name, release)


def runs_here(text: str) -> bool:
    """Whether the framework, and its release if one is asked for, is installed in this interpreter.

    Metadata tell; nothing is imported.

    Raises:
        UsageError: the label has the wrong form.
    """
    if text in _installed():
        return True
    label = read_label(text)
    return label.name in _installed() and label.release is not None and _is_installed(label.release, label.packages)


def check_name(label: Label) -> None:
    """Refuse a name for which no environment should be built.

    Raises:
        DriverNotFound: it is almost one that is known, and the package of that name could be anybody's.
        UsageError: the framework is a part of Trialbed.
    """
    adapter = installed_adapter(label.name)
    if adapter is not None and adapter.distribution == OWN:
        raise UsageError(f"{label.name} is a part of trialbed and runs where it is installed")
    names = {*KNOWN, *_installed()}
    if label.name not in names and difflib.get_close_matches(label.name, names, n=1):
        driver_info("frameworks", label.name)


def installed_adapter(name: str) -> DriverInfo | None:
    """The adapter of a framework that is installed here."""
    return next((driver for driver in list_drivers("frameworks") if driver.name == name), None)


def _installed() -> set[str]:
    return {driver.name for driver in list_drivers("frameworks")}


def _is_installed(release: str, packages: tuple[str, ...]) -> bool:
    try:
        return all(Version(version(package)) == Version(release) for package in packages)
    except PackageNotFoundError:
        return False


def _release(text: str, release: str) -> str:
    try:
        return str(Version(release))
    except InvalidVersion:
        raise UsageError(f"{text!r}: {release!r} is no version; write one such as 1.2.11, no range") from None
