"""The benchmark of an agent, with MASBench's parameters and defaults."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import trialbed


class BaseAgent(trialbed.BaseAgent):
    """The base class of agents; an agent can be called like a function too."""

    def __call__(self, query: str) -> Any:
        """Return the answer to a query."""
        return self.answer(query)


def run_benchmark(
    agent: Any,
    test_set: str = "G1_instruction",
    max_queries: int | None = None,
    server_url: str = "http://localhost:8080/virtual",
    evaluator_model: str = "gpt-4o-mini",
    output_dir: str | Path | None = None,
    agent_name: str = "agent",
    use_tool_selector: bool = True,
    tool_selector_model: str = "gpt-4o-mini",
    max_tools: int = 120,
    verbose: bool = True,
    use_colors: bool = True,
    **settings: Any,
) -> dict[str, Any]:
    """Benchmark an agent object as ``trialbed.run_benchmark`` does, with MASBench's order of parameters and defaults.

    Its tools are LangChain's ``StructuredTool``. Calls are scored as the server saw them, not as the agent names them.

    Args:
        **settings: further settings of a run, such as ``base_url``, the endpoint of judge and selector.

    Raises:
        TrialbedError: nothing could be measured; says why.
    """
    importlib.import_module("langchain_core.tools")  # where it is imported, tools are those of LangChain
    return trialbed.run_benchmark(
        agent,
        test_set,
        max_queries or None,
        server_url,
        evaluator_model,
        agent_name,
        output_dir,
        verbose,
        use_tool_selector=use_tool_selector,
        tool_selector_model=tool_selector_model,
        max_tools=max_tools,
        use_colors=use_colors,
        **settings,
    )
