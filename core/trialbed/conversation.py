"""A conversation between an agent and the user of a trial. The server hands out the user's messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp

from trialbed.errors import ServerUnavailable
from trialbed.records import Answer, TrialSpec

LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=60.0)
"""The user may take long for a message."""


async def converse(spec: TrialSpec, answer: Callable[[str], Awaitable[Answer]]) -> Answer:
    """Have an agent answer each message of the user, and return its last answer with the claims of all.

    Args:
        answer: the agent's answer to one message.

    Raises:
        ServerUnavailable: the server does not say whether there is another message.
    """
    found = await answer(spec.query)
    while spec.has_turns and (text := await _next_message(spec, found.final_answer)) is not None:
        found = _join(found, await answer(text))
    return found


async def _next_message(spec: TrialSpec, said: str) -> str | None:
    url = f"{spec.server_url.removesuffix('/virtual')}/user"
    try:
        async with aiohttp.ClientSession(timeout=LIMIT) as session, session.post(url, json={"answer": said}) as reply:
            if reply.status != 200:
                raise ServerUnavailable(
                    f"the user's next message cannot be fetched: the server answered with {reply.status}"
                )
            text = (await reply.json())["text"]
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ServerUnavailable(f"the user's next message cannot be fetched: {type(error).__name__}") from error
    return None if text is None else str(text)


def _join(before: Answer, last: Answer) -> Answer:
    """Return the last answer with the calls, tokens and requests that were claimed for all turns."""
    usage = None if before.usage is None or last.usage is None else before.usage + last.usage
    counts = (before.model_turns, last.model_turns)
    return last.model_copy(
        update={
            "calls": (*before.calls, *last.calls),
            "usage": usage,
            "model_turns": None if None in counts else sum(filter(None, counts)),
            "reports_calls": before.reports_calls and last.reports_calls,
        }
    )
