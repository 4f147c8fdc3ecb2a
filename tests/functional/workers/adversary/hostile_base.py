"""What all agents that do harm are made of."""

import gc
import os

from trialbed import Answer, BaseAgent

NAP = 600
"""Seconds that no test waits for."""


def done(text="fine"):
    return Answer(final_answer=text, finish="give_answer")


def end_at_the_next_command():
    """Have the worker end as soon as it has received another command."""
    gc.unfreeze()  # what the worker has left out of the search for garbage is shown only then
    (channel,) = [found for found in gc.get_objects() if type(found).__qualname__ == "Channel"]
    receive = channel.receive

    def receive_and_end():
        receive()
        os._exit(9)

    channel.receive = receive_and_end


class Base(BaseAgent):
    contract = "3"

    @classmethod
    def framework_version(cls):
        return "6.6.6"

    def bind_tools(self, tools, *, server_url):
        self.tools = {tool.name: tool for tool in tools}
