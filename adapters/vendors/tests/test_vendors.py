"""Tests that every driver loads by name, has an endpoint, and prepares requests for its vendor."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from trialbed_vendors import FoxcodeVendor, MoonshotVendor, OpenRouterVendor, SiliconFlowVendor

NAMES = (
    "429.icu",
    "anthropic",
    "bigmodel",
    "deepseek",
    "foxcode",
    "gemini",
    "minimax",
    "moonshot",
    "openai",
    "openrouter",
    "packyapi",
    "siliconflow",
    "yunwu",
)
REQUEST = {"model": "m", "messages": []}


def drivers():
    return {entry.name: entry for entry in entry_points(group="trialbed.vendors")}


def test_the_vendors_are_those_promised():
    assert set(NAMES) <= set(drivers())


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_driver_of_this_contract_over_https(name):
    vendor = drivers()[name].load()
    assert vendor.contract == "1"
    assert not vendor.base_url or vendor.base_url.startswith("https://")
    assert vendor(base_url="http://127.0.0.1:1/v1/").url == "http://127.0.0.1:1/v1"


def test_a_unified_name_becomes_the_vendors_own_and_others_stay():
    vendor = SiliconFlowVendor()
    assert vendor.model_id("glm-4.7") == "zai-org/GLM-4.7"
    assert vendor.model_id("some-model") == "some-model"


@pytest.mark.parametrize("provider", ["minimax", "minimax/"])
def test_openrouter_is_pinned_to_one_provider(provider):
    prepared = OpenRouterVendor(provider=provider).prepare(REQUEST, "minimax-m2.5")
    assert prepared["provider"] == {"only": ["minimax"], "allow_fallbacks": False}
    assert "provider" not in REQUEST


def test_openrouter_without_a_provider_changes_nothing():
    assert OpenRouterVendor().prepare(REQUEST, "minimax-m2.5") == REQUEST


def test_moonshot_takes_one_temperature_for_one_model():
    prepared = MoonshotVendor().prepare({**REQUEST, "temperature": 0.0}, "kimi-k2.5")
    assert (prepared["temperature"], prepared["thinking"]) == (0.6, {"type": "disabled"})
    assert MoonshotVendor().prepare(REQUEST, "kimi-k2") == REQUEST


def test_a_vendor_without_a_published_endpoint_has_none():
    assert FoxcodeVendor().url == ""
