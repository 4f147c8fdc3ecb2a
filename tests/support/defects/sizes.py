"""Adapters that cannot take what is long, deep, empty or many."""

from __future__ import annotations

import json

from support.defects._defective import Defective


class Results(Defective):
    """Changes what the model is told of a call."""

    def change(self, text):
        return text

    async def _result(self, call):
        result = await super()._result(call)
        return {**result, "content": self.change(result["content"])}


class WrapsResults(Results):
    caught_by = ("unicode_result", "deep_result")

    def change(self, text):
        return json.dumps({"result": text})


class FillsEmptyResults(Results):
    caught_by = ("empty_result",)

    def change(self, text):
        return text or "Tool returned no output."


class ReprsDeepResults(Results):
    caught_by = ("deep_result",)

    def change(self, text):
        return str(json.loads(text)) if text.startswith('{"level"') else text


class RaisesOnLength(Defective):
    caught_by = ("cut_off_answer_is_kept",)

    def _message(self, response):
        message = super()._message(response)
        if response.json()["choices"][0]["finish_reason"] == "length" and "tool_calls" not in message:
            raise ValueError("could not finish the message because max_tokens was reached")
        return message


class EncodesTheAnswer(Defective):
    caught_by = ("half_an_emoji_is_survived",)

    def _message(self, response):
        (response.json()["choices"][0]["message"]["content"] or "").encode()
        return super()._message(response)
