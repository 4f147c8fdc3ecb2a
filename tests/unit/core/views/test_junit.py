"""Findings as JUnit's XML."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from trialbed.views import TestCase, TestSuite, junit


def test_cases_are_counted_and_told_apart() -> None:
    cases = [
        TestCase("mini.reference", "reference/1", 0.5),
        TestCase("mini.reference", "reference/2", 1.0, "failure", "Unsolved", "it lacks <21>", "it lacks <21>"),
        TestCase("mini.reference", "reference/3", outcome="error", kind="endpoint", message="429"),
        TestCase("mini.reference", "reference/4", outcome="skipped", message="one trial"),
    ]
    text = junit([TestSuite("reference", cases, {"model": "m & n"})])
    root = Xml.fromstring(text)
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "1.500",
    }  # fmt: skip
    (suite,) = root
    assert suite.find("properties/property").attrib == {"name": "model", "value": "m & n"}  # type: ignore[union-attr]
    first, second, third, fourth = suite.findall("testcase")
    assert len(first) == 0
    assert second[0].attrib == {"type": "Unsolved", "message": "it lacks <21>"}
    assert (second[0].text, third[0].tag, fourth[0].tag) == ("it lacks <21>", "error", "skipped")


def test_any_text_is_well_formed_xml() -> None:
    hostile = "\x00\x1b[2J\ud83d\ufffe ]]> <!-- \u202e & '\"\r\nnext"
    case = TestCase(hostile, hostile, outcome="failure", kind="x", message=hostile, text=hostile)
    root = Xml.fromstring(junit([TestSuite(hostile, [case], {"x": hostile})]).encode())
    assert "next" in (root.findtext("testsuite/testcase/failure") or "")
    assert "\x1b" not in junit([TestSuite(hostile, [case])])
