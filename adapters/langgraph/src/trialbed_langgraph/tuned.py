"""The native program with the middleware that LangChain's documentation recommends against failing calls.

From https://docs.langchain.com/oss/python/langchain/middleware/built-in at langchain 1.5.2:

* "Tool error": ``ToolErrorMiddleware`` with a handler that names the type of the exception and not its text;
* "Tool retry": ``ToolRetryMiddleware`` behind it with ``on_failure="error"``, as the page composes the two;
* "Model retry": ``ModelRetryMiddleware``. With its default, ``on_failure="continue"``, an endpoint's error would be the
  agent's answer; with ``"error"`` it ends the run.

None of these sees a call with arguments that are not JSON: LangChain ends the run before any tool is called.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from packaging.version import Version

from trialbed import UsageError
from trialbed_langgraph.native import NativeAgent

OLDEST = "1.3.14"
"""The first release with ``ToolErrorMiddleware``."""


class TunedAgent(NativeAgent):
    """The native program with three kinds of middleware."""

    @classmethod
    def framework_version(cls) -> str:
        """Return the versions of LangGraph and of LangChain, which provides the agent.

        Raises:
            UsageError: LangChain is older than this middleware.
        """
        if Version(version("langchain")) < Version(OLDEST):
            raise UsageError(
                f"langgraph:tuned needs langchain {OLDEST} or newer, and {version('langchain')} is installed; ask for "
                f"a newer release, or for langgraph:native"
            )
        return super().framework_version()

    def middleware(self) -> list[Any]:
        """Return the middleware, the outermost first."""
        from langchain.agents.middleware import ModelRetryMiddleware, ToolErrorMiddleware, ToolRetryMiddleware

        return [
            ToolErrorMiddleware(describe_error),
            ToolRetryMiddleware(on_failure="error"),
            ModelRetryMiddleware(on_failure="error"),
        ]


def describe_error(error: Exception, request: Any) -> str:
    """Return the text that the model reads when a tool has raised an exception."""
    return f"`{request.tool_call['name']}` failed with {type(error).__name__}; fix the input and retry."
