"""``bench releases`` with the real Trialbed, and a framework whose second release does something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.index import Index
from support.machines import Machine, publish_acme_agent

pytestmark = [pytest.mark.slow(100), pytest.mark.packaging]

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
    done = machine.bench("releases", "acme", "--part", "traffic", *options, "--json", code=code)
    return dict(json.loads(done.out))


def changes(found: dict[str, Any], part: str) -> list[dict[str, str]]:
    """The changes of a part."""
    return [change for change in found["changes"] if change["part"] == part]


def test_a_change_is_named_with_its_release_and_what_was_measured_is_not_measured_again(
    changing: Machine, index: Index
) -> None:
    found = report(changing, "--yes", "-o", "acme.json", code=1)

    assert (found["package"], found["allowed"]) == ("acme", ">=1")
    assert [row["release"] for row in found["releases"]] == ["1.0", "2.0", "3.0"]
    assert "no-such-package-of-acme" in found["releases"][2]["failure"]
    *_, change = changes(found, "traffic")
    assert (change["after"], change["release"], change["subjects"]) == ("1.0", "2.0", ["requests_of_a_trial"])
    assert change["evidence"].startswith("request 1, /conversation/0/content changed")
    assert "Be brief" in change["evidence"]
    assert found["releases"][1]["others"] == [], "nothing but the framework changed between the two"
    # Locks stay beside the records, environments do not.
    kept = changing.folder / "releases" / "acme"
    assert sorted(path.name for path in kept.iterdir()) == ["1.0.json", "1.0.lock", "2.0.json", "2.0.lock", "3.0.json"]
    assert "acme==2.0" in (kept / "2.0.lock").read_text()
    assert changing.listed() == []
    assert list(changing.env_dir.glob(".releases/acme/acme-*")) == []

    # Again: the index is asked for releases, and nothing is measured.
    again = changing.bench("releases", "acme", "--part", "traffic", "--to", "2.0", "--fail-if-changed")
    assert "2 releases chosen, 2 measured before" in again.err
    assert "building" not in again.err
    assert "acme 1.0 to 2.0: 1 of 1 step between neighbours changed something: 2.0." in again.out
    assert "2.0, after 1.0" in again.out

    # The newest alone is measured, and it changes something; that is reported once.
    index.publish("acme", "2.1", modules={"acme": "VERSION = '0.9'\n"})
    (index.folder / "acme-3.0-py3-none-any.whl").unlink()
    newest = report(changing, "--most", 1, "--fail-if-changed", "--yes", code=1)
    assert [row["release"] for row in newest["releases"]] == ["1.0", "2.0", "2.1", "3.0"]
    assert changes(newest, "traffic")[-1]["release"] == "2.1"
    report(changing, "--most", 1, "--fail-if-changed", "--yes")

    # One that cannot be installed is reported until it can, or until a newer one can.
    index.publish("acme", "3.0", requires=["no-such-package-of-acme>=1"])
    for _ in range(2):
        broken = report(changing, "--most", 1, "--yes", code=1)
        assert "no-such-package-of-acme" in broken["releases"][-1]["failure"]
    index.publish("acme", "3.1", modules={"acme": "VERSION = '0.9'\n"})
    report(changing, "--most", 1, "--yes")
