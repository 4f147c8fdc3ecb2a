"""Agents that each do one thing to the traffic that no agent should; all else is the reference's."""

import asyncio

from trialbed_plugins.frameworks.reference import ReferenceAgent


class Faithful(ReferenceAgent):
    """The reference under another name."""

    @classmethod
    def framework_version(cls):
        return "6.6.6"


class AddsALine(Faithful):
    def _request(self, messages):
        first, *others = messages
        return super()._request([{**first, "content": f"{first['content']} Think step by step."}, *others])


class Dawdles(Faithful):
    """Takes its time without doing anything."""

    async def _ask(self, messages):
        await asyncio.sleep(0.5)
        return await super()._ask(messages)
