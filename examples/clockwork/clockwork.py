"""A made-up agent framework, the example of the guide to adapters."""

import json

import httpx


class Gear:
    """A tool with a name, a description, a JSON Schema, and a coroutine from keyword arguments to text."""

    def __init__(self, name, description, schema, turn):
        self.name, self.description, self.schema, self.turn = name, description, schema, turn


class Report:
    """The result of a run."""

    def __init__(self):
        self.words = ""  # the last text
        self.done = False  # whether the model ended with that text
        self.turned = []  # (name, arguments, text) of each gear that was turned
        self.tokens = []  # the usage that the model reported, per tick


class Clockwork:
    """An agent. A tick is one request to the model."""

    def __init__(self, url, key, prompt, gears, ticks=10, **settings):
        self.prompt, self.ticks, self.settings = prompt, ticks, settings
        self.gears = {gear.name: gear for gear in gears}
        headers = {"Authorization": f"Bearer {key}"}
        self.client = httpx.AsyncClient(base_url=url, headers=headers, timeout=None)  # noqa: S113

    async def run(self, task):
        """Ask the model and turn gears until it answers without a call."""
        report = Report()
        messages = [{"role": "system", "content": self.prompt}, {"role": "user", "content": task}]
        for _ in range(self.ticks):
            message = await self.ask(messages, report)
            messages.append(message)
            if not message.get("tool_calls"):
                report.done = True
                break
            for call in message["tool_calls"]:
                text = await self.turn(call["function"]["name"], call["function"]["arguments"], report)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        report.words = messages[-1]["content"]
        return report

    async def ask(self, messages, report):
        """Return the model's next message. Subclasses may override this."""
        tools = [
            {"type": "function", "function": {"name": g.name, "description": g.description, "parameters": g.schema}}
            for g in self.gears.values()
        ]
        body = {"messages": messages, **self.settings, **({"tools": tools} if tools else {})}
        response = await self.client.post("/chat/completions", json=body)
        response.raise_for_status()
        reply = response.json()
        report.tokens.append(reply.get("usage"))
        said = reply["choices"][0]["message"]
        return {key: said[key] for key in ("role", "content", "tool_calls") if key in said}

    async def turn(self, name, arguments, report):
        """Turn a gear and return its text. Subclasses may override this."""
        arguments = json.loads(arguments)
        text = await self.gears[name].turn(**arguments)
        report.turned.append((name, arguments, text))
        return text
