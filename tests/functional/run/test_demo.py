"""``bench demo``, and the page that a browser opens after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from support.warm import warm_programs

from trialbed.cli import cli
from trialbed.errors import EnvironmentFailed
from trialbed_pages import create_app

pytestmark = pytest.mark.slow(30)


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIALBED_STORE", raising=False)
    monkeypatch.delenv("TRIALBED_STATE_DIR", raising=False)


def test_the_demo_says_what_is_lost_and_a_browser_opens_at_a_lost_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with warm_programs():
        shown = CliRunner().invoke(cli, ["demo"])
    assert shown.exit_code == 0, shown.output
    broken, correct, _, loop, defaults, _, finds, activate, _, *following = shown.stdout.splitlines()
    assert broken == ("LangGraph with its defaults loses every task in which the model's JSON is broken: 30 of 30.")
    assert correct == "With correct JSON it solves 30 of 30 (one trial each)."
    assert re.fullmatch(r"  plain loop             30/30  █{10}    \d,\d{3} tokens   \d\.\d\d s", loop)
    assert defaults == "  langgraph (defaults)    0/30  ░░░░░░░░░░  stops at the first broken call"
    assert (finds, activate.endswith("/bin/activate")) == ("So that your shell finds bench:", True)
    assert [line.partition(":")[0] for line in following] == ["See the call", "Your tools", "Your model"]
    assert not (tmp_path / "results").exists()
    store = str(tmp_path / ".trialbed" / "trialbed.db")
    with TestClient(create_app(store)) as client:
        found = client.get("/latest")
    assert found.history[0].headers["location"].endswith("#fault")
    fault = found.text.partition('<div class="fault">')[2].partition("</div>")[0]
    assert re.search(
        r"The model sent.*#request-1.*Expected.*Lost by the framework.*invalid JSON.*#answer", fault, re.DOTALL
    )


def test_it_says_if_langgraph_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EnvironmentFailed("no index has trialbed-langgraph")

    monkeypatch.setattr("trialbed.cli.demo.chosen_environments", fail)
    found = CliRunner().invoke(cli, ["demo"]).exception
    assert isinstance(found, EnvironmentFailed)
    assert "no index has trialbed-langgraph" in str(found)
    assert "`make demo`" in str(found)
