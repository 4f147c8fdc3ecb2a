"""The common parts of controlled profiles of all frameworks over OpenAI's client."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import ClassVar

from trialbed.contracts import BaseAgent
from trialbed.tools import Tool
from trialbed_controlled._chat import ControlledChat
from trialbed_controlled._client import TrialClient


class ControlledProfile(BaseAgent):
    """One agent per trial; a subclass runs the framework's loop over ``begin``'s conversation and client.

    Class attributes:
        distribution: of the framework; its version is reported.
        ends_with_request: whether the framework ends its loop with one request more than the trial allows.
    """

    contract = "3"
    converses = True
    distribution: ClassVar[str]
    ends_with_request: ClassVar[bool] = False
    _chat: ControlledChat | None = None
    _client: TrialClient | None = None

    @classmethod
    def framework_version(cls) -> str:
        """The framework's version."""
        return version(cls.distribution)

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Keep the tools."""
        self.tools = list(tools)

    def begin(self, query: str) -> tuple[ControlledChat, TrialClient]:
        """Return the trial's conversation with this message, and a client for it, which ``close`` closes.

        The framework runs its loop again for each message of the user; the requests contain the earlier messages.
        """
        if self._chat is None or self._client is None:
            prompt = self.system_prompt
            self._chat = ControlledChat(self.endpoint, self.limits, self.tools, system_prompt=prompt, query=query)
            self._client = TrialClient(self._chat, self.endpoint, self.limits, ends_with_request=self.ends_with_request)
        else:
            self._chat.say(query)
            self._client.failure = None
        return self._chat, self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
