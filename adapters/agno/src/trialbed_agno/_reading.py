"""Reads Agno's run as an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agno.run.agent import RunOutput

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of


def read_run(output: RunOutput, apis: Mapping[str, ApiRef], *, stopped: bool) -> Answer:
    """The answer that a run gives.

    The text is that of the last message: ``output.content`` joins the texts of all turns.

    Args:
        apis: tool name -> Api.
        stopped: the step limit ended the run; its last message is the adapter's.
    """
    turns = [message for message in output.messages or [] if message.role == "assistant"]
    text = "" if stopped or not turns else turns[-1].get_content_string()
    return Answer(
        final_answer=text,
        calls=tuple(_calls(output, apis)),
        finish=finish_of(text),
        usage=_usage(output),
        model_turns=len(turns) - stopped,
    )


def _calls(output: RunOutput, apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    for tool in output.tools or []:
        if not tool.tool_call_error:
            name = tool.tool_name or ""
            yield ClaimedCall(
                name=name, api=apis.get(name), arguments=tool.tool_args or {}, response=str(tool.result or "")
            )


def _usage(output: RunOutput) -> Usage | None:
    """The run's tokens; None where Agno counted none, as it does for a model that reports none."""
    metrics = output.metrics
    if metrics is None or not (metrics.input_tokens or metrics.output_tokens):
        return None
    return Usage(prompt_tokens=metrics.input_tokens, completion_tokens=metrics.output_tokens)
