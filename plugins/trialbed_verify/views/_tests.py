"""Verifications and comparisons as tests of JUnit, for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trialbed.views import TestCase
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS

if TYPE_CHECKING:
    from trialbed_verify.comparison import VendorComparison
    from trialbed_verify.verification.results import EndpointSummary


def verification_tests(summary: EndpointSummary) -> Iterator[TestCase]:
    """Yield a test of the answers that came, one of the calls against their schemas, and one per gate of findings."""
    name, found = f"{summary.model} at {summary.vendor}", summary.figures
    failed, wrong = summary.counts.failure_count, summary.counts.schema_validation_error_count
    problems = ", ".join(f"{count} {kind}" for kind, count in found.problems.items())
    yield _test(name, "requests are answered", "unanswered", f"{failed} were not: {problems}" if failed else "")
    yield _test(name, "calls fit their schemas", "schema", f"{wrong} responses do not" if wrong else "")
    for gate in GATES:
        if gate == "schema":
            continue
        counts = [
            f"{count} {kind}"
            for kind, count in found.notes.items()
            if kind in KINDS and KINDS[kind].gate == gate and KINDS[kind].severity == "violation"
        ]
        if gate == "protocol":
            counts += [f"{count} {kind}" for kind, count in found.problems.items() if kind in PROTOCOL_ERRORS]
        yield _test(name, f"no violations: {gate}", "violation", ", ".join(counts))


def comparison_tests(found: VendorComparison) -> Iterator[TestCase]:
    """Yield a test per gate of the panel that applies, which fails where the vendor differs, and one of the verdict."""
    name = f"{found.vendor.vendor} against {found.baseline.vendor}"
    for one in found.panel.applicable:
        message = f"{one.gate.meaning}: {one.reason}" if one.finding == "different" else ""
        yield _test(name, one.gate.label, "different", message)
    is_different = found.panel.finding == "different"
    yield _test(name, "verdict", "different", found.panel.reason if is_different else "")


def _test(classname: str, name: str, kind: str, message: str) -> TestCase:
    if not message:
        return TestCase(classname, name)
    return TestCase(classname, name, outcome="failure", kind=kind, message=message)
