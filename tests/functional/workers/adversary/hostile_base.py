"""What all agents that do harm are made of."""

from trialbed import Answer, BaseAgent

NAP = 600
"""Seconds that no test waits for."""


def done(text="fine"):
    return Answer(final_answer=text, finish="give_answer")


class Base(BaseAgent):
    contract = "1"

    @classmethod
    def framework_version(cls):
        return "6.6.6"

    def bind_tools(self, tools, *, server_url):
        self.tools = {tool.name: tool for tool in tools}
