"""Drivers for model vendors: makers of models first, then hosts of other makers' models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed import Vendor

__all__ = [
    "AnthropicVendor",
    "BigModelVendor",
    "DeepSeekVendor",
    "FourTwoNineVendor",
    "FoxcodeVendor",
    "GeminiVendor",
    "MiniMaxVendor",
    "MoonshotVendor",
    "OpenAIVendor",
    "OpenRouterVendor",
    "PackyApiVendor",
    "SiliconFlowVendor",
    "YunwuVendor",
]


class OpenAIVendor(Vendor):
    """OpenAI."""

    contract = "1"
    base_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"


class AnthropicVendor(Vendor):
    """Anthropic, through its OpenAI-compatible endpoint."""

    contract = "1"
    base_url = "https://api.anthropic.com/v1"
    key_variable = "ANTHROPIC_API_KEY"
    models: ClassVar[Mapping[str, str]] = {
        "claude-haiku-4.5": "claude-haiku-4-5",
        "claude-opus-4.5": "claude-opus-4-5",
        "claude-sonnet-4.5": "claude-sonnet-4-5",
    }


class GeminiVendor(Vendor):
    """Google's Gemini, through its OpenAI-compatible endpoint."""

    contract = "1"
    base_url = "https://generativelanguage.googleapis.com/v1beta/openai"
    key_variable = "GEMINI_API_KEY"
    models: ClassVar[Mapping[str, str]] = {"gemini-2.5-flash": "gemini-2.5-flash"}


class DeepSeekVendor(Vendor):
    """DeepSeek; the name of its chat model always refers to the newest one."""

    contract = "1"
    base_url = "https://api.deepseek.com/v1"
    key_variable = "DEEPSEEK_API_KEY"
    models: ClassVar[Mapping[str, str]] = {"deepseek-v3.2": "deepseek-chat"}


class MoonshotVendor(Vendor):
    """Moonshot, the maker of Kimi."""

    contract = "1"
    base_url = "https://api.moonshot.cn/v1"
    key_variable = "MOONSHOT_API_KEY"
    models: ClassVar[Mapping[str, str]] = {"kimi-k2": "kimi-k2-0905-preview", "kimi-k2.5": "kimi-k2.5"}

    def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:
        """Send kimi-k2.5 the only temperature that it accepts, 0.6, with thinking off as at other vendors."""
        if model == "kimi-k2.5":
            return {**request, "temperature": 0.6, "thinking": {"type": "disabled"}}
        return request


class MiniMaxVendor(Vendor):
    """MiniMax."""

    contract = "1"
    base_url = "https://api.minimax.io/v1"
    key_variable = "MINIMAX_API_KEY"
    models: ClassVar[Mapping[str, str]] = {"minimax-m2": "MiniMax-M2", "minimax-m2.5": "MiniMax-M2.5"}


class BigModelVendor(Vendor):
    """BigModel by Zhipu, the maker of GLM."""

    contract = "1"
    base_url = "https://open.bigmodel.cn/api/paas/v4"
    key_variable = "ZHIPUAI_API_KEY"
    models: ClassVar[Mapping[str, str]] = {"glm-4.7": "glm-4.7"}


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
