from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.cases import for_each
from support.verification import configured

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed_verify.verification import RequestSettings, VerifyOptions

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


def test_a_vendor_that_nobody_knows_needs_a_url(tmp_path: Path) -> None:
    with pytest.raises(TrialbedError, match="the address of nowhere is not known"):
        configured(tmp_path, "m:\n  vendors:\n    - name: nowhere\n", nowhere="k")
