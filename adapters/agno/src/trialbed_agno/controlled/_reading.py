"""Reads Agno's run as an answer."""

from __future__ import annotations

from collections.abc import Mapping

from agno.run.agent import RunOutput

from trialbed import Answer, ApiRef, finish_of
from trialbed_agno._reading import claimed_calls, claimed_usage


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
        calls=tuple(claimed_calls(output, apis)),
        finish=finish_of(text),
        usage=claimed_usage(output),
        model_turns=len(turns) - stopped,
    )
