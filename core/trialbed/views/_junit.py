"""Findings as JUnit's XML, which systems of continuous integration show as tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree as Xml

from trialbed.views._figures import printable

TestOutcome = Literal["passed", "failure", "error", "skipped"]
"""The end of a test: ``failure`` for a finding, ``error`` for an unknown outcome, ``skipped`` for no verdict."""


@dataclass(frozen=True)
class TestCase:
    """One test.

    Attributes:
        kind: of the failure or error, in a word.
        message: the fault, in a line.
        text: more of it.
    """

    __test__ = False  # not pytest's

    classname: str
    name: str
    seconds: float = 0.0
    outcome: TestOutcome = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass(frozen=True)
class TestSuite:
    """Tests of one subject, and its properties."""

    __test__ = False

    name: str
    cases: Sequence[TestCase]
    properties: Mapping[str, str] = field(default_factory=dict)


def junit(suites: Sequence[TestSuite], name: str = "bench") -> str:
    """Suites as XML, with their counts; characters that XML cannot hold are replaced."""
    root = Xml.Element("testsuites", {"name": name, **_counts([case for suite in suites for case in suite.cases])})
    for suite in suites:
        own = Xml.SubElement(root, "testsuite", {"name": printable(suite.name), **_counts(suite.cases)})
        if suite.properties:
            properties = Xml.SubElement(own, "properties")
            for key, value in suite.properties.items():
                Xml.SubElement(properties, "property", {"name": key, "value": printable(value)})
        own.extend(_cases(suite.cases))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _cases(cases: Sequence[TestCase]) -> Iterator[Xml.Element]:
    for case in cases:
        about = {"classname": printable(case.classname), "name": printable(case.name), "time": f"{case.seconds:.3f}"}
        shown = Xml.Element("testcase", about)
        if case.outcome != "passed":
            found = Xml.SubElement(shown, case.outcome, {"type": case.kind, "message": printable(case.message)})
            found.text = "\n".join(map(printable, case.text.splitlines())) or None
        yield shown


def _counts(cases: Sequence[TestCase]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }
