from __future__ import annotations

from pathlib import Path

import pytest
from support.distributions import FakeDistribution
from support.verification import configured, verify, written_set
from support.wire import BODY, reply, saying

from trialbed.errors import DriverError, UsageError
from trialbed_verify.verification import RequestSettings, Target, endpoint_target

DRIVER = """
from trialbed import Vendor

class AcmeVendor(Vendor):
    contract = "1"
    base_url = "https://acme.example/v1/"
    key_variable = "ACME_TOKEN"
    models = {"kimi-k2": "acme/kimi"}

    def headers(self, api_key):
        return {"x-api-key": api_key}

    def prepare(self, request, model):
        return {**request, "tier": "fast"}
"""


def endpoint(folder: Path, url: str = "http://127.0.0.1:8000/v1/", key: str = " k ", model: str = "m") -> Target:
    files = folder / "r.jsonl", folder / "s.json"
    return endpoint_target(url, key, RequestSettings(model=model), None, *files)


def kimi(folder: Path, vendors: str, **keys: str) -> list[Target]:
    return configured(folder, f"kimi-k2:\n  vendors:\n{vendors}", **keys)


def test_an_endpoint_is_named_by_its_host(tmp_path: Path) -> None:
    target = endpoint(tmp_path)
    assert (target.name, target.url) == ("127.0.0.1:8000", "http://127.0.0.1:8000/v1/chat/completions")
    assert (target.api_key, target.adapter_name, target.proxy) == ("k", "generic", None)
    assert endpoint(tmp_path, model="kimi-k2").adapter_name == "kimi"
    assert endpoint(tmp_path, "https://openrouter.ai/api/v1").name == "openrouter.ai"


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


@pytest.mark.parametrize(("url", "key"), [("127.0.0.1/v1", "k"), ("http://u:p@h/v1", "k"), ("http://h/v1", "a b")])
def test_what_cannot_be_sent_to_is_refused(url: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        endpoint(tmp_path, url, key)


def test_a_driver_of_another_distribution_is_taken_by_name(fake_distribution: FakeDistribution, tmp_path: Path) -> None:
    entry_points = {"trialbed.vendors": {"acme": "acme_vendor:AcmeVendor"}}
    fake_distribution("acme-vendor", entry_points=entry_points, modules={"acme_vendor": DRIVER})
    target, renamed = kimi(
        tmp_path,
        "    - {name: acme}\n    - {name: acme, provider: x, model_id: own, url: 'http://127.0.0.1:1/v1'}\n",
        ACME_TOKEN="k-acme",
    )
    assert (target.url, target.driver_name) == ("https://acme.example/v1/chat/completions", "acme")
    assert target.configuration()["model_id"] == "acme/kimi"
    prepared = target.prepare({"messages": []})
    assert (prepared.request["model"], prepared.request["tier"]) == ("acme/kimi", "fast")
    assert target.vendor.headers(target.api_key) == {"x-api-key": "k-acme"}
    assert (renamed.url, renamed.configuration()["model_id"]) == ("http://127.0.0.1:1/v1/chat/completions", "own")
    assert renamed.prepare({"messages": []}).request["model"] == "own"


def test_a_driver_of_another_contract_is_refused(fake_distribution: FakeDistribution, tmp_path: Path) -> None:
    entry_points = {"trialbed.vendors": {"acme": "acme_vendor:AcmeVendor"}}
    other = DRIVER.replace('contract = "1"', 'contract = "7"')
    fake_distribution("acme-vendor", entry_points=entry_points, modules={"acme_vendor": other})
    with pytest.raises(DriverError, match="acme-vendor"):
        kimi(tmp_path, "    - {name: acme}\n", ACME_TOKEN="k")


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


def test_a_model_adapter_that_is_not_there_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    files = tmp_path / "r.jsonl", tmp_path / "s.json"
    with pytest.raises(DriverError, match="generic"):
        endpoint_target("http://h/v1", "k", RequestSettings(model="m"), "kimmi", *files)


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
