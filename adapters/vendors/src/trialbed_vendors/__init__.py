"""Model vendors for Trialbed."""

from trialbed_vendors._makers import (
    AnthropicVendor,
    BigModelVendor,
    DeepSeekVendor,
    GeminiVendor,
    MiniMaxVendor,
    MoonshotVendor,
    OpenAIVendor,
)
from trialbed_vendors._resellers import (
    FourTwoNineVendor,
    FoxcodeVendor,
    OpenRouterVendor,
    PackyApiVendor,
    SiliconFlowVendor,
    YunwuVendor,
)

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
