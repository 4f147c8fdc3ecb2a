"""Run every conformance check as a pytest test of an adapter.

::

    from trialbed_adapter_lab.testing import AdapterConformance


    class TestAcme(AdapterConformance):
        framework = "acme"
"""

from __future__ import annotations

import warnings
from typing import ClassVar

try:
    import pytest
except ImportError as error:
    raise ImportError("trialbed_adapter_lab.testing needs pytest; install it, or run bench adapter check") from error

from trialbed.contracts import BaseAgent
from trialbed.errors import UsageError
from trialbed_adapter_lab import CHECKS, CheckFinding, Kit, Probe
from trialbed_adapter_lab.pytest_plugin import REPORT

__all__ = ["AdapterConformance"]


class AdapterConformance:
    """One test per check. Subclass it, and name the adapter: one class for each of its profiles.

    A declared deviation is an expected failure, one that is no longer true a failure. A finding is skipped, with what
    was seen, and so is a check that cannot be tried.

    Class attributes:
        framework: the name of its entry point; or
        agent: its class, and
        profile: the profile that the class is for; None if the adapter has none.
    """

    framework: ClassVar[str] = ""
    agent: ClassVar[type[BaseAgent] | None] = None
    profile: ClassVar[str | None] = None

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_conformance(self, check: Probe, request: pytest.FixtureRequest) -> None:
        """The adapter does as the check asks, or declares that it does not."""
        kit = _class_kit(request)
        with warnings.catch_warnings():
            # Warnings of a framework are not errors in a worker either.
            warnings.simplefilter("default")
            finding = kit.run(check)
        _note(request, kit, finding)
        if finding.outcome == "declared":
            pytest.xfail(_first_line(finding))
        if not finding.ok:
            pytest.fail(finding.message, pytrace=False)
        if finding.outcome in ("finding", "skipped"):
            pytest.skip(f"{finding.outcome}: {_first_line(finding)}")

    def test_declarations_name_checks(self, request: pytest.FixtureRequest) -> None:
        """Every deviation that names a check names one that exists."""
        kit = _class_kit(request)
        misnamed = kit.check_declarations()
        _note(request, kit, *misnamed)
        if misnamed:
            pytest.fail("\n".join(finding.message for finding in misnamed), pytrace=False)


def _first_line(finding: CheckFinding) -> str:
    return finding.message.partition("\n")[0]


def _note(request: pytest.FixtureRequest, kit: Kit, *findings: CheckFinding) -> None:
    """Attach findings to the test, for the summary at the end."""
    report = kit.report.model_copy(update={"findings": findings, "dialects": kit.dialects})
    request.node.user_properties.append((REPORT, report.model_dump_json()))


CLASS_KIT = pytest.StashKey[Kit]()
BROKEN = pytest.StashKey[str]()


def _class_kit(request: pytest.FixtureRequest) -> Kit:
    """Return the kit of the test's class; made for its first test, and closed after its last."""
    node = request.node.getparent(pytest.Class)
    found: Kit | None = node.stash.get(CLASS_KIT, None)
    if found is not None:
        return found
    if BROKEN in node.stash:
        pytest.fail(f"{node.obj.__qualname__}: {node.stash[BROKEN]} (the first test says more)", pytrace=False)
    try:
        found = Kit(_adapter_of(node.obj), CHECKS, node.obj.profile)
    except Exception as error:
        node.stash[BROKEN] = str(error)
        raise
    node.stash[CLASS_KIT] = found
    node.addfinalizer(found.close)
    return found


def _adapter_of(owner: type[AdapterConformance]) -> str | type[BaseAgent]:
    """Return the adapter that a test class names."""
    if owner.agent is None and not owner.framework:
        raise UsageError(f'{owner.__qualname__} does not name an adapter: set framework = "NAME" or agent = TheClass')
    return owner.agent or owner.framework
