"""Configuration files, and the drivers of vendors."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.cases import for_each
from support.distributions import FakeDistribution
from support.verification import configured, verify, written_set
from support.wire import BODY, reply, saying

from trialbed.errors import DataError, DriverError, UsageError
from trialbed_verify.verification import (
    RequestSettings,
    Target,
    VerifyOptions,
    doubtful_models,
    endpoint_target,
    unified_models,
)

WHOLE = """
minimax-m2.5:
  vendors:
    - name: acme
      model_id: acme/m2p5
      api_key: xxxxxx
      provider: fast/
      url: https://acme.example/v1/
      validator: openai
      is_baseline: true
    - name: other
      url: https://other.example/v1
"""


def test_a_file_names_models_and_vendors(tmp_path: Path) -> None:
    first, second = configured(tmp_path, WHOLE, acme="sk-acme", OTHER_API_KEY="sk-other")
    assert (first.settings.model, first.url) == ("minimax-m2.5", "https://acme.example/v1/chat/completions")
    assert (first.settings.model_id, first.is_baseline) == ("acme/m2p5", True)
    assert (first.name, first.api_key, second.api_key) == ("fast (acme)", "sk-acme", "sk-other")
    assert first.output == tmp_path / "data" / "minimax-m2.5_acme_fast_results.jsonl"
    assert second.summary == tmp_path / "data" / "minimax-m2.5_other_summary.json"
    assert second.vendor.model_id("minimax-m2.5") == "minimax-m2.5"


def test_a_missing_key_is_named_with_the_variables_that_would_hold_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 4: no key found for acme.*acme, ACME, ACME_API_KEY"):
        configured(tmp_path, WHOLE, other="sk-other")


def test_a_key_in_the_file_is_used_where_git_would_not_commit_it(tmp_path: Path) -> None:
    text = WHOLE.replace("xxxxxx", "sk-in-the-file")
    assert configured(tmp_path, text, other="sk-other")[0].api_key == "sk-in-the-file"
    assert configured(tmp_path, text, acme="sk-env", other="sk-other")[0].api_key == "sk-env"


def test_a_key_in_a_file_that_git_would_commit_is_refused_with_its_line(tmp_path: Path) -> None:
    text = WHOLE.replace("xxxxxx", "sk-in-the-file")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UsageError, match=r"config\.yaml, line 6: contains a key") as caught:
        configured(tmp_path, text, other="sk-other")
    assert "sk-in-the-file" not in str(caught.value)
    (tmp_path / ".gitignore").write_text("config.yaml\n")
    assert configured(tmp_path, text, other="sk-other")[0].api_key == "sk-in-the-file"


ENTRY = "m:\n  vendors:\n    - name: a\n"


@for_each(
    ("text", "message"),
    [
        ("", "the file must be a mapping"),
        ("m:\n  - x\n", "line 2: m must be a mapping"),
        ("m:\n  vendor: []\n", "line 2: m: needs a list under `vendors:`"),
        ("m:\n  vendors: []\n", "names no vendors"),
        ("m: [\n", "not valid YAML: line"),
        ("m:\n  vendors:\n    - url: x\n", "line 3: a vendor of m has no name"),
        (f"{ENTRY}    - name: a\n", "listed twice"),
        (f"{ENTRY}  trials: 5\n", "line 4: trials is next to `vendors:`"),
        (f"{ENTRY}      is_baseline: true\n    - {{name: b, is_baseline: true}}\n", "2 vendors are marked as its base"),
        (f"{ENTRY}      trials: 2\n      trials: 3\n", "line 5: trials is given twice (first: line 4)"),
        (f"{ENTRY}      colour: red\n", "line 4: unknown key 'colour'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        configured(tmp_path, text)


@for_each(
    ("key", "value", "wanted"),
    [
        ("is_baseline", "maybe", "true or false"),
        ("api_key", "[sk-secret]", "a string"),
        ("validator", "other", "one of openai"),
        ("trials", "0", "a whole number of at least 1"),
        ("trials", "true", "a whole number of at least 1"),
        ("concurrency", "many", "a whole number"),
        ("temperature", "warm", "a number"),
        ("temperature", ".inf", "a number"),
        ("stream", "sometimes", "true or false"),
        ("extra_body", "[1]", "a mapping"),
        ("extra_body", "{x: .nan}", "a mapping"),
        ("headers", "{X-A: 5}", "a mapping"),
        ("headers", '{X-A: "sk-secret\\n"}', "a mapping"),
        ("prices", "{in: 1}", "a mapping with input and output"),
        ("prices", "{}", "a mapping with input and output"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_not_shown(key: str, value: str, wanted: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"line 4: {key} must be {wanted}") as caught:
        configured(tmp_path, f"{ENTRY}      {key}: {value}\n")
    assert "secret" not in str(caught.value)


OWN = """
m:
  vendors:
    - name: a
      url: https://a.example/v1
      trials: 5
      concurrency: 2
      temperature: 0.6
      stream: true
      extra_body: {top_p: 0.9}
      headers: {X-Region: eu, X-Api-Token: tok-0123456789}
      prices: {input: 0.5, output: 2}
    - {name: b, url: "https://b.example/v1"}
"""


def test_an_entry_has_settings_of_its_own_before_those_of_all(tmp_path: Path) -> None:
    shared = RequestSettings(model="", temperature=1.0, extra_body={"top_p": 1.0, "seed": 7})
    first, second = configured(tmp_path, OWN, shared, a="sk-a", b="sk-b")
    assert (first.settings.temperature, first.settings.stream) == (0.6, True)
    assert first.settings.extra_body == {"top_p": 0.9, "seed": 7}
    assert (second.settings.temperature, second.settings.stream) == (1.0, None)
    options = VerifyOptions(trials=1, request_concurrency=9)
    assert [options.trials_of(one) for one in (first, second)] == [5, 1]
    assert [options.concurrency_at(one) for one in (first, second)] == [2, 9]
    assert first.prices == {"input": 0.5, "output": 2.0}
    assert first.configuration()["headers"] == {"X-Region": "eu", "X-Api-Token": "[redacted]"}
    assert "tok-0123456789" in first.secrets
    assert "headers" not in second.configuration(), "results of earlier versions keep their configuration"


def test_a_secret_header_in_a_file_that_git_would_commit_is_refused(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UsageError, match=r"config\.yaml, line 11: headers: X-Api-Token contains a key") as caught:
        configured(tmp_path, OWN, a="sk-a", b="sk-b")
    assert "tok-0123456789" not in str(caught.value)


def endpoint(folder: Path, url: str = "http://127.0.0.1:8000/v1/", key: str = " k ", model: str = "m") -> Target:
    files = folder / "r.jsonl", folder / "s.json"
    return endpoint_target(url, key, RequestSettings(model=model), None, *files)


def kimi(folder: Path, vendors: str, **keys: str) -> list[Target]:
    return configured(folder, f"kimi-k2:\n  vendors:\n{vendors}", **keys)


@pytest.mark.parametrize(("said", "sent"), [({}, True), ({"stream": None}, True), ({"stream": False}, False)])
def test_vendors_that_will_be_ranked_are_asked_for_streams_unless_a_line_says_no(
    said: dict[str, bool], sent: bool, tmp_path: Path
) -> None:
    line = {"messages": [], **said}
    (vendor,) = kimi(tmp_path, "    - {name: acme, url: 'http://127.0.0.1/v1', api_key: k}\n")
    (told,) = kimi(tmp_path, "    - {name: acme, url: 'http://127.0.0.1/v1', api_key: k, stream: false}\n")
    assert vendor.prepare(line).request["stream"] is sent
    assert told.prepare(line).request["stream"] is False
    assert endpoint(tmp_path).prepare(line).request.get("stream") == said.get("stream")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def __init__(self, **given):\n        raise RuntimeError('no region')",
            "failed for kimi-k2: RuntimeError: no reg",
        ),
        ("def model_id(self, model):\n        return {}[model]", "failed for kimi-k2: KeyError: 'kimi-k2'"),
        ("def model_id(self, model):\n        return 5", "does not map kimi-k2 to a string"),
    ],
)
def test_a_driver_that_fails_is_named_with_its_line(
    body: str, message: str, fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    head = "from trialbed import Vendor\nclass Acme(Vendor):\n    contract = '1'\n    base_url = 'https://a/v1'\n"
    driver = f"{head}    {body}\n"
    fake_distribution(
        "acme", entry_points={"trialbed.vendors": {"acme": "acme_odd:Acme"}}, modules={"acme_odd": driver}
    )
    with pytest.raises(DriverError, match=r"config\.yaml, line 3: the driver of acme") as caught:
        kimi(tmp_path, "    - {name: acme}", acme="key-of-acme")
    assert message in str(caught.value)


def test_a_secret_is_in_no_configuration(tmp_path: Path) -> None:
    (target,) = kimi(tmp_path, "    - {name: other, url: 'http://h/v1'}\n", other="sk-secret-123")
    assert "sk-secret-123" not in repr(target.configuration())
    other = kimi(tmp_path, "    - {name: other, url: 'http://h/v1'}\n", other="sk-another-123")[0]
    assert target.digest() == other.digest()


@pytest.mark.parametrize("url", ["http://u:p@h/v1", "h/v1"])
def test_a_wrong_url_is_named_with_its_line(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config\.yaml, line 3: the url of other: "):
        kimi(tmp_path, f"    - {{name: other, url: '{url}'}}\n", other="k")


async def test_a_vendor_that_wants_a_header_of_its_own_needs_no_other_key(tmp_path: Path) -> None:
    async with saying(reply(f"Content-Length: {len(BODY)}")) as server:
        # In a folder outside of git, a file may hold keys.
        entry = f"    - {{name: acme, url: '{server.url}', headers: {{X-Api-Token: Token sk-acme-0123}}}}\n"
        (target,) = kimi(tmp_path, entry)
        await verify(written_set(tmp_path / "set.jsonl", 1), target, retries=0)
    (request,) = server.requests
    assert "X-Api-Token: Token sk-acme-0123" in request
    assert "authorization" not in request.lower()
    assert {"Token sk-acme-0123", "sk-acme-0123"} <= set(target.secrets)
    with pytest.raises(UsageError, match="no key found for acme"):
        kimi(tmp_path, entry.replace("X-Api-Token", "X-Region"))


def doubts(folder: Path, model: str, vendor: str, model_id: str = "") -> list[str]:
    pytest.importorskip("trialbed_vendors")
    given = f", model_id: {model_id}" if model_id else ""
    text = f"{model}:\n  vendors:\n    - {{name: {vendor}{given}}}\n"
    return list(doubtful_models(configured(folder, text, **{vendor: "k" * 9})))


def test_the_names_of_all_vendors_are_listed() -> None:
    pytest.importorskip("trialbed_vendors")
    models = unified_models()
    assert {"gemini-2.5-flash", "claude-sonnet-4.5", "deepseek-v3.2", "glm-4.7", "minimax-m2.5", "kimi-k2.5"} <= set(
        models
    )
    assert models["kimi-k2.5"]["siliconflow"] == "moonshotai/Kimi-K2.5"


def test_a_name_that_a_vendor_would_not_understand_is_doubtful(tmp_path: Path) -> None:
    (doubt,) = doubts(tmp_path, "kimi-k2-5", "siliconflow")
    assert "has no name for 'kimi-k2-5'" in doubt
    assert "did you mean 'kimi-k2.5' (--list-models)?" in doubt
    (doubt,) = doubts(tmp_path, "some-other-model", "siliconflow")
    assert "did you mean" not in doubt
