"""``bench releases`` with the real Trialbed, and a framework whose second release does something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.index import Index
from support.machines import Machine, publish_acme_agent

pytestmark = [pytest.mark.slow(40), pytest.mark.packaging]

PROMPT = '"content": self.system_prompt}'
BRIEF = '"content": self.system_prompt + " Be brief." * (self.framework_version() > "1.0")}'


@pytest.fixture
def changing(real: Machine, index: Index) -> Machine:
    """A machine whose framework adds to the prompt from 2.0 on, and whose 3.0 cannot be installed."""
    publish_acme_agent(index, **{PROMPT: BRIEF})
    index.publish("acme", "3.0", requires=["no-such-package-of-acme>=1"])
    return real


def report(machine: Machine, *options: object, code: int = 0) -> dict[str, Any]:
    """What is printed, of the parts that take a moment."""
    done = machine.bench("releases", "acme", "--part", "prompt", *options, "--json", code=code)
    return dict(json.loads(done.out))


def values(found: dict[str, Any], part: str) -> list[list[dict[str, str]]]:
    """The values of every fact of a part that changes."""
    return [fact["points"] for fact in found["histories"] if fact["part"] == part and len(fact["points"]) > 1]


def test_a_change_is_named_with_its_release_and_what_was_measured_is_not_measured_again(
    changing: Machine, index: Index
) -> None:
    found = report(changing, "--yes", "-o", "acme.json", code=1)

    assert (found["package"], found["allowed"]) == ("acme", ">=1")
    assert [row["release"] for row in found["releases"]] == ["1.0", "2.0", "3.0"]
    assert "no-such-package-of-acme" in found["releases"][2]["failure"]
    (points,) = values(found, "requests")
    assert [point["release"] for point in points] == ["1.0", "2.0"]
    assert points[1]["evidence"].startswith("request 1, /conversation/0/content changed")
    assert any("Be brief" in point["evidence"] for point in points)
    assert values(found, "prompt"), "tokens and changed messages"
    assert found["releases"][1]["others"] == [], "nothing but the framework changed between the two"
    # Locks stay beside the records, environments do not.
    kept = changing.folder / "releases" / "acme"
    assert sorted(path.name for path in kept.iterdir()) == [
        "1.0.json",
        "1.0.lock",
        "2.0.json",
        "2.0.lock",
        "3.0.json",
        "index.json",
    ]
    assert "acme==2.0" in (kept / "2.0.lock").read_text()
    assert changing.listed() == []

    # Again: the index is asked for releases, and nothing is measured.
    again = changing.bench("releases", "acme", "--part", "prompt", "--to", "2.0", "--fail-if-changed")
    assert "2 releases chosen, 2 measured before" in again.err
    assert "building" not in again.err
    assert "acme 1.0 to 2.0: 1 of 1 step between neighbours changed something: 2.0." in again.out
    assert "2.0, after 1.0" in again.out

    # A watch that knows 2.0: the next release is measured, and it changes something.
    index.publish("acme", "2.1", modules={"acme": "VERSION = '0.9'\n"})
    (index.folder / "acme-3.0-py3-none-any.whl").unlink()
    (kept / "3.0.json").unlink()
    newest = report(changing, "--newer", "--fail-if-changed", "--yes", code=1)
    assert [row["release"] for row in newest["releases"]] == ["2.0", "2.1"]
    assert [point["release"] for point in values(newest, "requests")[0]] == ["2.0", "2.1"]
