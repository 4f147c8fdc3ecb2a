"""Vendors that serve their own models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed import Vendor


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
