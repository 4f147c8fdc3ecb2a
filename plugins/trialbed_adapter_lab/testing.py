"""Run every conformance check as a pytest test of an adapter.

::

    from trialbed_adapter_lab.testing import AdapterConformance


    class TestAcme(AdapterConformance):
        framework = "acme"
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import ClassVar

try:
    import pytest
except ImportError as error:
    raise ImportError("trialbed_adapter_lab.testing needs pytest; install it, or run bench adapter check") from error

from trialbed.contracts import BaseAgent
from trialbed.errors import TrialbedError
from trialbed_adapter_lab import CHECKS, Kit, Probe
from trialbed_adapter_lab.pytest_plugin import adapter_of

__all__ = ["AdapterConformance"]


class AdapterConformance:
    """One test per check. Subclass it, and name the adapter; each profile needs a class.

    A declared deviation is an expected failure; an outdated one is a failure. Findings are skipped with
    the observed behaviour, and so are checks that cannot be run.

    Class attributes:
        framework: the name of its entry point; or
        agent: its class, and
        profile: the profile to test; None for an adapter without profiles.
    """

    framework: ClassVar[str] = ""
    agent: ClassVar[type[BaseAgent] | None] = None
    profile: ClassVar[str | None] = None

    @pytest.fixture(scope="class")
    @classmethod
    def conformance_kit(cls, request: pytest.FixtureRequest) -> Iterator[Kit]:
        """Open the kit of the adapter, once for all tests of the class."""
        try:
            kit = Kit(adapter_of(request), CHECKS, cls.profile)
        except TrialbedError as error:
            pytest.fail(f"{type(error).__name__}: {error}", pytrace=False)
        with kit:
            yield kit

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_conformance(self, check: Probe, request: pytest.FixtureRequest) -> None:
        """The adapter does as the check asks, or declares that it does not."""
        kit: Kit = request.getfixturevalue("conformance_kit")
        with warnings.catch_warnings():
            # Warnings of a framework are not errors in a worker either.
            warnings.simplefilter("default")
            finding = kit.run(check)
        first_line = finding.message.partition("\n")[0]
        if finding.outcome == "declared":
            pytest.xfail(first_line)
        if not finding.ok:
            pytest.fail(finding.message, pytrace=False)
        if finding.outcome in ("finding", "skipped"):
            pytest.skip(f"{finding.outcome}: {first_line}")

    def test_declarations_name_checks(self, conformance_kit: Kit) -> None:
        """Every deviation that names a check names one that exists."""
        if misnamed := conformance_kit.check_declarations():
            pytest.fail("\n".join(finding.message for finding in misnamed), pytrace=False)
