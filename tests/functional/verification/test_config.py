"""``bench verify --config``: models and vendors, verified side by side."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.bench import Finished
from support.distributions import FakeDistribution
from support.servers import until
from support.verification import rows, stored, written_set

from trialbed_scripted import FaultScript, ScriptedServer, serve

Run = Callable[..., Awaitable[Finished]]
Servers = dict[str, ScriptedServer]

CASES = 32
KEYS = {"official": "sk-official-0001", "FAITHFUL": "sk-faithful-0001", "CARELESS_API_KEY": "sk-careless-0001"}
SCRIPTS = {
    "official": '{"seed": 1, "answers": {"flips": 0.05, "gap": 0.002}}',
    "faithful": '{"seed": 2, "answers": {"flips": 0.05, "gap": 0.002}}',
    "careless": '{"mix": {"none": 6, "bad_arguments": 1, "cut_stream": 1}, "answers": {"gap": 0.002}}',
}


@asynccontextmanager
async def vendors(**scripts: str) -> AsyncIterator[Servers]:
    """A fault server for each vendor."""
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(serve(faults=script)) for name, script in scripts.items()}


def configured(folder: Path, servers: Servers, *, baseline: str | None = "official", **keys: str) -> Path:
    """A configuration of one model at these vendors, with their keys in ``.env``."""
    lines = ["kimi-k2:", "  vendors:"]
    for name, server in servers.items():
        lines.append(f"    - {{name: {name}, url: '{server.url}', is_baseline: {str(name == baseline).lower()}}}")
    (folder / "config.yaml").write_text("\n".join(lines) + "\n")
    (folder / ".env").write_text("".join(f"{name}={key}\n" for name, key in (keys or KEYS).items()))
    return folder / "config.yaml"


def results(folder: Path, vendor: str) -> list[dict[str, Any]]:
    return rows(folder / "data" / f"kimi-k2_{vendor}_results.jsonl")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written_set(tmp_path / "set.jsonl", CASES, stream=True)


async def test_vendors_are_verified_compared_and_ranked_in_one_go(bench: Run, file: Path, tmp_path: Path) -> None:
    async with vendors(**SCRIPTS) as servers:
        config = configured(tmp_path, servers)
        arguments = ("verify", file, "--config", config, "--trials", 2)
        document = json.loads((await bench(*arguments, "--vendor-concurrency", 3, "--json")).out)
        assert {name: server.met.total() for name, server in servers.items()} == dict.fromkeys(servers, 2 * CASES)
        again = (*arguments, "--incremental", "--format")
        report, figures = [(await bench(*again, form)).out for form in ("markdown", "csv")]
    assert [summary["vendor"] for summary in document["summaries"]] == ["official", "faithful", "careless"]
    (model,) = document["models"]
    assert (model["model"], model["baseline"], model["notes"]) == ("kimi-k2", "official", [])
    assert [one["vendor"]["vendor"] for one in model["comparisons"]] == ["faithful", "careless"]
    assert model["comparisons"][0]["self_consistency"]["baseline"]["self_f1"]["value"] < 1
    (ranking,) = document["ranking"]["models"]
    assert {row["vendor"] for row in ranking["ranked"]} == {"official", "faithful"}
    assert "careless" in {row["vendor"] for row in ranking["not_ranked"]}
    assert "| vendor | verdict | answers in 1,000 that break a caller |" in report
    assert "## kimi-k2: ranked over six metrics" in report
    assert len(figures.splitlines()) == 4


async def test_a_baseline_with_others_is_asked_twice_and_the_price_is_said_before(
    bench: Run, file: Path, tmp_path: Path
) -> None:
    async with vendors(official="none", faithful="none") as servers:
        config = configured(tmp_path, servers)
        config.write_text(config.read_text().replace("url:", "prices: {input: 5000, output: 9}, url:"))
        said = (await bench("verify", file, "--config", config)).err.splitlines()[0]
        assert servers["official"].met.total() == 2 * servers["faithful"].met.total() == 2 * CASES
    tokens = 3 * len(await asyncio.to_thread(file.read_bytes)) // 4
    assert f": {3 * CASES} requests, about {tokens:,} prompt tokens, $" in said
    assert float(said.partition("$")[2].split()[0]) == pytest.approx(tokens * 0.005, rel=0.05)
    assert said.endswith(" at your prices, answers on top")


async def test_each_vendor_gets_its_own_key_and_no_file_has_one(bench: Run, file: Path, tmp_path: Path) -> None:
    echo = dict.fromkeys(("official", "faithful", "careless"), "echo_key:403")
    async with vendors(**echo) as servers:
        config = configured(tmp_path, servers)
        done = await bench("verify", file, "--config", config, "--json", code=3)
    document = json.loads(done.out)
    said = {summary["vendor"]: summary["problems"] for summary in document["summaries"]}
    assert all(list(problems) == ["http_403"] for problems in said.values())
    texts = [done.out, done.err]
    texts += [path.read_text() for path in (tmp_path / "data").glob("*")]
    assert not [key for key in KEYS.values() for text in texts if key in text]
    assert all("Bearer [redacted]" in results(tmp_path, name)[0]["problem"]["message"] for name in servers)


async def test_a_file_of_keys_that_git_would_commit_is_told(bench: Run, file: Path, tmp_path: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    async with vendors(official="none") as servers:
        config = configured(tmp_path, servers)
        assert ".env: git does not ignore this file" in (await bench("verify", file, "--config", config)).err
        (tmp_path / ".gitignore").write_text(".env\n")
        assert "git" not in (await bench("verify", file, "--config", config, "--incremental")).err


async def test_only_what_is_missing_is_sent_again(bench: Run, file: Path, tmp_path: Path) -> None:
    async with vendors(official="none", faithful="status:403", careless="none") as servers:
        config = configured(tmp_path, servers)
        arguments = ("verify", file, "--config", config, "--request-concurrency", 2, "--trials", 1)
        await bench(*arguments)
        sent = {name: server.met.total() for name, server in servers.items()}
        assert (sent["official"], sent["careless"]) == (CASES, CASES)
        await bench(*arguments)
        again = {name: server.met.total() - sent[name] for name, server in servers.items()}
    assert (again["official"], again["careless"]) == (0, 0)
    assert again["faithful"] >= 20
    assert len(results(tmp_path, "careless")) == CASES


async def test_interrupted_it_goes_on_and_reports_what_there_is(
    command: Callable[..., Any], bench: Run, file: Path, tmp_path: Path
) -> None:
    hanging = '{"mix": {"none": 4, "silent": 1}}'
    async with vendors(official="none", faithful="none", careless=hanging) as servers:
        config = configured(tmp_path, servers)
        arguments = ("verify", file, "--config", config, "--trials", 1)
        process = command(*arguments)
        await until(lambda: stored(tmp_path, "careless") > 3)
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.to_thread(process.communicate, None, 60)
        assert (process.returncode, "Traceback" in err) == (130, False), err
        kept = {name: len(results(tmp_path, name)) for name in servers}
        assert sum(kept.values()) < 3 * CASES
        summaries = [json.loads(path.read_text()) for path in (tmp_path / "data").glob("*_summary.json")]
        assert {summary["vendor"]: summary["case_count"] for summary in summaries} == kept
        servers["careless"].faults = FaultScript()
        document = json.loads((await bench(*arguments, "--json")).out)
    assert [summary["case_count"] for summary in document["summaries"]] == [CASES] * 3
    assert len(document["models"][0]["comparisons"]) == 2


DRIVER = """
from trialbed import Vendor

class AcmeVendor(Vendor):
    contract = "1"
    models = {"kimi-k2": "acme/kimi"}
    key_variable = "ACME_TOKEN"

    def headers(self, api_key):
        return {"Authorization": f"Bearer {api_key}", "X-Region": "eu"}

    def prepare(self, request, model):
        if request["messages"][0]["content"] == "question 3":
            raise KeyError("tier")
        return {**request, "service_tier": "flex"}
"""


async def test_a_driver_of_another_distribution_is_used_and_its_faults_are_its_own(
    bench: Run, file: Path, tmp_path: Path, fake_distribution: FakeDistribution
) -> None:
    site = fake_distribution(
        "acme-vendor",
        "2.5",
        entry_points={"trialbed.vendors": {"acme": "acme_vendor:AcmeVendor"}},
        modules={"acme_vendor": DRIVER},
    )
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    async with vendors(official="none", acme="none") as servers:
        config = configured(tmp_path, servers, official="k", ACME_TOKEN="k-acme-0001")
        arguments = ("verify", file, "--config", config, "--request-concurrency", 1, "--trials", 1)
        done = await bench(*arguments, code=2, PYTHONPATH=path)
        assert "Error: acme: the vendor's driver or the model adapter 'kimi' could not prepare line 4" in done.err
        assert "its driver failed; 29 requests not sent" in done.err
        assert "kimi-k2 compared with official" in done.out
        assert servers["official"].met.total() == CASES, "the other vendor is none of its business"
    found = results(tmp_path, "acme")
    assert [row["data_index"] for row in found] == [1, 2, 3]
    assert {(row["request"]["model"], row["request"]["service_tier"]) for row in found} == {("acme/kimi", "flex")}
    summary = json.loads((tmp_path / "data" / "kimi-k2_acme_summary.json").read_text())
    assert (summary["case_count"], summary["not_sent"]) == (3, CASES - 3)
    assert "KeyError: 'tier'" in summary["failure"]
    assert summary["provenance"]["drivers"]["vendor"] == "acme (acme-vendor 2.5)"


TRANSFORMERS = """
class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, name, *, trust_remote_code):
        assert trust_remote_code is False
        return cls()

    def apply_chat_template(self, messages, tools, *, tokenize, add_generation_prompt):
        return f"<{messages[-1]['content']}> {[tool['function']['name'] for tool in tools]}"
"""


async def test_raw_completions_are_asked_for_by_their_template_and_calls_are_found_in_the_text(
    bench: Run, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "transformers.py").write_text(TRANSFORMERS)
    path = os.pathsep.join(filter(None, (str(tmp_path / "site"), os.environ.get("PYTHONPATH"))))
    async with vendors(official='{"mix": {"none": 1, "unknown_tool": 1}}') as servers:
        arguments = ("verify", file, "--config", configured(tmp_path, servers), "--use-raw-completions")
        await bench(*arguments, "--tokenizer-model", "some/folder", PYTHONPATH=path)
    found = results(tmp_path, "official")
    assert found[0]["request"] == {"model": "kimi-k2", "stream": True, "prompt": "<question 0> ['lookup']"}
    called = [row for row in found if row["outcome"] == "tool_calls"]
    assert 0 < len(called) < CASES
    for row in called:
        assert row["calls"][0]["reasons"] == ["unknown_tool"]
        assert (
            row["response"]["choices"][0]["message"]["tool_calls"][0]["id"] == "functions.tool_that_was_not_offered:0"
        )
    assert {row["finish_reason"] for row in found} == {"tool_calls", "stop"}
