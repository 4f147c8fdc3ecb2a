"""The real API: an endpoint of ToolBench's protocol behind which the Apis themselves are called."""

from trialbed_server.real._acceptance import refusal
from trialbed_server.real._backend import RealBackend, RealFailed

__all__ = ["RealBackend", "RealFailed", "refusal"]
