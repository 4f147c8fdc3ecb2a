"""Answers of MirrorAPI, the models that StableToolBench trained to behave like its Apis."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from trialbed.contracts import Simulation
from trialbed.errors import UsageError
from trialbed.records import Api, Json
from trialbed_server.simulators.llm import ModelSimulator, api_document, read_truncated

FILE = "system_prompts.py"
PLACES = (FILE, f"server/{FILE}")
"""The path of the prompts from the folder of StableToolBench's server or of the checkout."""

NAMES = ("SFT_SYSTEM", "COT_SYSTEM")


def read_mirror_prompts(folder: Path) -> dict[str, str]:
    """Read the two system prompts by their names; the file is not run.

    Raises:
        UsageError: the folder has no such prompts.
    """
    path = next((folder / place for place in PLACES if (folder / place).is_file()), None)
    if path is None:
        raise UsageError(
            f"--simulator-prompts {folder}: there is no {FILE}; name a checkout of StableToolBench, or leave the "
            "option out to use Trialbed's prompts"
        )
    try:
        found = _texts(ast.parse(path.read_text(encoding="utf-8")))
        return {name: found[name] for name in NAMES}
    except KeyError as error:
        raise UsageError(f"--simulator-prompts: {path} has no text {error}; is it StableToolBench's?") from error
    except (OSError, ValueError, SyntaxError, RecursionError) as error:
        raise UsageError(f"--simulator-prompts: {path} cannot be read: {error}") from error


def _texts(module: ast.Module) -> dict[str, str]:
    """The string literals that are assigned to names."""
    return {
        target.id: statement.value.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


PROMPT = "mirrorapi-2"
"""The version of the prompts; part of the revision."""

SYSTEM = """\
Act as the server of an API. From the documentation and a request, work out what the request is for, and write the \
answer of the API as JSON that can be parsed directly, without any other text:
{
    "error": "",
    "response": ""
}
"error" stays empty while the call is processed without a fault. "response" holds the content that the API returns \
for these parameters: rich, effective and practical, in the form that its documentation implies. Where a call must \
fail, for wrong parameters or missing rights, answer as the API would."""

SYSTEM_COT = """\
Act as the server of an API. From the documentation and a request, first infer how the API works inside: what it does \
with its parameters, and where its values come from. Then write its answer as JSON that can be parsed directly, \
without any other text:
{
    "mechanism_of_the_api": "",
    "error": "",
    "response": ""
}
"mechanism_of_the_api" explains how the API works and what this request makes it do. "error" stays empty while the \
call is processed without a fault. "response" holds the content that the API returns for these parameters, consistent \
with that mechanism."""


class MirrorSimulator(ModelSimulator):
    """Asks a MirrorAPI model in the style of its fine-tuning: the documentation and the request.

    Both are written as Python writes a dict, as in the training data. The system prompt is Trialbed's own, unless that
    of the training is read from a copy of StableToolBench. A reply that breaks off inside its response is used as far
    as it goes. Sampling is that of StableToolBench's server, too.
    """

    provenance: ClassVar[str] = "mirrorapi"
    trained_with: ClassVar[str] = "SFT_SYSTEM"
    sampling: ClassVar[Mapping[str, Any]] = {"temperature": 0.1, "seed": 42, "max_tokens": 2048}
    system: str = SYSTEM
    prompt: str = PROMPT

    def use_prompts(self, folder: Path) -> bool:
        """Use the system prompt of a copy of StableToolBench.

        Raises:
            UsageError: the folder has no such prompt.
        """
        self.system = read_mirror_prompts(folder)[self.trained_with]
        self.prompt = f"stabletoolbench-{hashlib.sha256(self.system.encode()).hexdigest()[:16]}"
        return True

    def settings(self) -> Mapping[str, Json]:
        """The model and how it is asked."""
        return {**super().settings(), "prompt": f"{self.prompt}:{self.provenance}"}

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call."""
        request = {name: value for name, value in arguments.items() if name != "toolbench_key"}
        task = f"API doc:\n{api_document(api, ref)}\n\nRequest:\n{request}"
        return await self.ask(ref, read_truncated, self.system, task)


class MirrorCotSimulator(MirrorSimulator):
    """As ``mirrorapi``, in the style with reasoning: the model first writes how the Api works, which is dropped."""

    provenance: ClassVar[str] = "mirrorapi-cot"
    trained_with: ClassVar[str] = "COT_SYSTEM"
    system: str = SYSTEM_COT
