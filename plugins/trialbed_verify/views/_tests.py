"""Verifications and comparisons as tests of JUnit, for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.views import TestCase
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS

Document = Mapping[str, Any]


def verification_tests(summary: Document) -> Iterator[TestCase]:
    """A test of the answers that came, one of the calls against their schemas, and one per gate of findings."""
    name = f"{summary['model']} at {summary['vendor']}"
    failed, wrong = summary["failure_count"], summary["schema_validation_error_count"]
    problems = ", ".join(f"{count} {kind}" for kind, count in summary["problems"].items())
    yield _test(name, "requests are answered", "unanswered", f"{failed} were not: {problems}" if failed else "")
    yield _test(name, "calls fit their schemas", "schema", f"{wrong} responses do not" if wrong else "")
    for gate in GATES:
        if gate == "schema":
            continue
        counts = [
            f"{count} {kind}"
            for kind, count in summary["notes"].items()
            if kind in KINDS and KINDS[kind].gate == gate and KINDS[kind].severity == "violation"
        ]
        if gate == "protocol":
            counts += [f"{count} {kind}" for kind, count in summary["problems"].items() if kind in PROTOCOL_ERRORS]
        yield _test(name, f"no violations: {gate}", "violation", ", ".join(counts))


def comparison_tests(document: Document) -> Iterator[TestCase]:
    """A test per gate of the panel that applies, which fails where the vendor is different, and one of the verdict."""
    name = f"{document['vendor']['vendor']} against {document['baseline']['vendor']}"
    panel = document["panel"]
    for gate in panel["gates"]:
        if gate["finding"] != "not applicable":
            said = f"{gate['meaning']}: {gate['reason']}" if gate["finding"] == "different" else ""
            yield _test(name, gate["gate"], "different", said)
    yield _test(name, "verdict", "different", panel["reason"] if panel["finding"] == "different" else "")


def _test(classname: str, name: str, kind: str, message: str) -> TestCase:
    if not message:
        return TestCase(classname, name)
    return TestCase(classname, name, outcome="failure", kind=kind, message=message)
