"""``bench plugin check``: whether installed plugins and files fulfil their contracts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.cli import main
from trialbed.installed import offers
from trialbed_adapter_lab.plugin_check import KINDS, check_plugin

JUDGE = """\
from trialbed.contracts import Judge, Verdict


class Mine(Judge):
    async def judge(self, query, answer, wire):
        return Verdict(status="Solved", value=1.0, reason="always", votes=("Solved",))
"""


REPORTER = "from trialbed.contracts import Reporter\n\nclass Mine(Reporter): ...\n"
DATASET = """\
from trialbed import Dataset, DatasetDriver
from trialbed.records import Api, GoldCall, Parameter, Query

TRACK = Api(category="c", tool_name="t", api_name="track", required_parameters=(Parameter(name="number"),))
WRONG = GoldCall(api=TRACK.ref, arguments={"parcel": "P-100"})


class Parcels(Dataset):
    name = test_set = "parcels"

    def queries(self):
        return [Query(query_id=1, text="Where is it?", apis=(TRACK,), gold_calls=(WRONG,))]


class Mine(DatasetDriver):
    def test_sets(self, data_dir):
        return ["parcels"]

    def open(self, test_set, data_dir):
        return Parcels()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder; what is made known to this process is forgotten at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


BUNDLED = [
    (word, offer.name) for word, kind in KINDS.items() for offer in offers(kind) if offer.distribution == "trialbed"
]


@for_each("word, name", BUNDLED)
def test_every_bundled_plugin_fulfils_its_contract(word: str, name: str) -> None:
    assert check_plugin(name, word).problem == ""


def test_a_plugin_that_fulfils_its_contract_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", "query"]) == 0
    assert capsys.readouterr().out.startswith("query (trialbed ")


@for_each(
    "name, file, words",
    [
        ("./judge.py:Mine", JUDGE.replace("async def judge", "def judge"), "`async def judge("),
        ("./judge.py:Mine", f"{JUDGE}\n    def __init__(self, endpoint, *, votes):\n        1 / 0\n", "line 9)"),
        ("./fails.py:Mine", "1 / 0\n", "ZeroDivisionError: division by zero (File"),
        ("./broken.py", "def score(:\n", "SyntaxError"),
        ("./executor.py:Mine", "from trialbed.contracts import Executor\n\nclass Mine(Executor): ...\n", "line 3)"),
        (
            "./scorer.py",
            "from trialbed import hookimpl\n\n@hookimpl\ndef describe_scores():\n    return ['words']\n",
            "describe_scores gives 'words', which is not a ScoreDescription",
        ),
        ("./model.py:eager", "def eager():\n    return ''\n", "eager() must take (request) (File"),
        ("./model.py:Silent", "class Silent: ...\n", "is a subclass of none of these contracts"),
        ("./reporter.py:Mine", REPORTER, "is a Reporter, which works only in a package, with an entry point of"),
        ("./vendor.py:Mine", REPORTER.replace("Reporter", "Vendor"), "is a Vendor, which works only in a package"),
        ("./dataset.py:Mine", DATASET, "its expected call of track has 'parcel', which the tool lacks: no agent can"),
        ("./parcels.py:Mine", DATASET.replace('{"parcel": "P-100"}', "{}"), "lacks 'number', which the tool requires"),
    ],
)
def test_a_plugin_that_departs_from_its_contract_exits_with_1_and_says_how(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, file: str, words: str
) -> None:
    (folder / name.partition(":")[0]).write_text(file)
    assert main(["plugin", "check", name, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert words in found["problem"]
    assert not found["conformant"]


@for_each(
    "arguments, words",
    [
        (["nobody"], "no plugin is called 'nobody'"),
        (["bfcl"], "say which with --kind"),
        (["./nothing.py:Mine"], "cannot be read"),
        (["./judge.py:Min"], "has no 'Min'; did you mean 'Mine'?"),
        (["./judge.py", "--kind", "judge"], "name the class in it: ./judge.py:NAME"),
        (["./judge.py:Mine", "--kind", "scorer"], "a file of hooks is checked as a whole: ./judge.py"),
    ],
)
def test_what_cannot_be_checked_exits_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (folder / "judge.py").write_text(JUDGE)
    assert main(["plugin", "check", *arguments]) == 2
    assert words in capsys.readouterr().err
