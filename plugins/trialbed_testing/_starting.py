"""The files to start testing an agent from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.files import replace_file

REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "langgraph": ("langchain", "langchain-openai", "langgraph"),
    "crewai": ("crewai", "openai"),
    "autogen": ("autogen-agentchat", "autogen-ext[mcp,openai]"),
    "openai-agents": ("openai-agents",),
    "agno": ("agno", "openai"),
}
"""Maps frameworks to the packages that their agent imports."""

TRIALBED = (
    "# Trialbed is not on the package index yet: this line is met where its checkout is installed. Elsewhere, write",
    "# trialbed[pytest] @ git+https://github.com/OWNER/trialbed@COMMIT",
    "trialbed[pytest]",
)
"""The lines of ``requirements.txt`` for Trialbed itself."""

MODELS = ("scripted:gold", "scripted:retry", "scripted:parallel")
"""The models that test every agent."""

BAD_JSON = "scripted:bad-json"
"""Only for agents that parse arguments. Anthropic's API cannot carry such arguments, and LangChain stops at them."""


def write_start(framework: str, folder: Path) -> list[Path]:
    """Write the files for a framework into a folder and return their paths.

    Raises:
        UsageError: a file exists already or cannot be written.
    """
    texts = {
        folder / "agent.py": _template(f"{framework}.py"),
        folder / "desk.py": _template("desk.py"),
        folder / "test_agent.py": _template("test_agent.py").replace("{{ models }}", _models(framework)),
        folder / "pytest.ini": _template("pytest.ini"),
        folder / "requirements.txt": "\n".join([*REQUIREMENTS[framework], *TRIALBED]) + "\n",
        folder / ".github" / "workflows" / "agent.yml": _template("workflow.yml"),
    }
    for path in texts:
        if path.exists():
            raise UsageError(f"{path} already exists: name another folder, or remove it")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{folder.absolute()} cannot be written: {reason}; name another folder") from error
    return list(texts)


def _models(framework: str) -> str:
    names = (*MODELS, BAD_JSON) if framework == "openai" else MODELS
    return ", ".join(f'"{name}"' for name in names)


def _template(name: str) -> str:
    return (files("trialbed_testing") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
