"""Answers of MirrorAPI, the models that StableToolBench trained to behave like its Apis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from trialbed.contracts import Simulation
from trialbed.records import Api, Json
from trialbed_server.simulators.llm import ModelSimulator, api_document, read_truncated

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


class MirrorSimulator(ModelSimulator):
    """Ask a MirrorAPI model in the style of its fine-tuning, with the documentation and the request.

    Both are written as Python writes a dict, like the training data. The system prompt is Trialbed's own unless another
    one is given. If a reply breaks off inside its response, the beginning is used. Sampling follows StableToolBench's
    server, too.
    """

    provenance: ClassVar[str] = "mirrorapi"
    sampling: ClassVar[Mapping[str, Any]] = {"temperature": 0.1, "seed": 42, "max_tokens": 2048}
    system: ClassVar[str] = SYSTEM
    version: ClassVar[str] = "mirrorapi-2"

    def settings(self) -> Mapping[str, Json]:
        """Return the model and how it is asked."""
        return {**super().settings(), "prompt": f"{self.prompt}:{self.provenance}"}

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        """Answer one call."""
        request = {name: value for name, value in arguments.items() if name != "toolbench_key"}
        task = f"API doc:\n{api_document(api, ref)}\n\nRequest:\n{request}"
        return await self.ask(ref, read_truncated, task)
