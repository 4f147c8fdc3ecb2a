"""Vendors that serve other makers' models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed import Vendor


class OpenRouterVendor(Vendor):
    """OpenRouter, which routes to providers; ``provider`` pins a single one."""

    contract = "1"
    base_url = "https://openrouter.ai/api/v1"
    key_variable = "OPENROUTER_API_KEY"
    models: ClassVar[Mapping[str, str]] = {
        "claude-haiku-4.5": "anthropic/claude-haiku-4.5",
        "claude-opus-4.5": "anthropic/claude-opus-4.5",
        "claude-sonnet-4.5": "anthropic/claude-sonnet-4.5",
        "deepseek-v3.2": "deepseek/deepseek-v3.2",
        "gemini-2.5-flash": "google/gemini-2.5-flash",
        "glm-4.7": "z-ai/glm-4.7",
        "kimi-k2": "moonshotai/kimi-k2-0905",
        "kimi-k2.5": "moonshotai/kimi-k2.5",
        "minimax-m2": "minimax/minimax-m2",
        "minimax-m2.5": "minimax/minimax-m2.5",
    }

    def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:  # noqa: ARG002 - the same for every model
        """Pin the provider; without one, OpenRouter may change it between requests."""
        if not self.provider:
            return request
        return {**request, "provider": {"only": [self.provider.strip("/")], "allow_fallbacks": False}}


class SiliconFlowVendor(Vendor):
    """SiliconFlow."""

    contract = "1"
    base_url = "https://api.siliconflow.cn/v1"
    key_variable = "SILICONFLOW_API_KEY"
    models: ClassVar[Mapping[str, str]] = {
        "deepseek-v3.2": "deepseek-ai/DeepSeek-V3.2",
        "glm-4.7": "zai-org/GLM-4.7",
        "kimi-k2": "moonshotai/Kimi-K2-Instruct-0905",
        "kimi-k2.5": "moonshotai/Kimi-K2.5",
        "minimax-m2": "MiniMaxAI/MiniMax-M2",
        "minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
    }


class PackyApiVendor(Vendor):
    """PackyAPI."""

    contract = "1"
    base_url = "https://www.packyapi.com/v1"
    key_variable = "PACKYAPI_API_KEY"


class YunwuVendor(Vendor):
    """Yunwu."""

    contract = "1"
    base_url = "https://yunwu.ai/v1"
    key_variable = "YUNWU_API_KEY"


class FourTwoNineVendor(Vendor):
    """429.icu; its endpoint must be given."""

    contract = "1"


class FoxcodeVendor(Vendor):
    """Foxcode; its endpoint must be given."""

    contract = "1"
