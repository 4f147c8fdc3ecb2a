"""Plays trials with DSPy's ReAct, which sends calls and results as text: ``python text_program.py URL``, JSON as input.

The input has the ``tool`` by name, the ``question``, the ``result`` of each call, and ``trials``, a list of tokens. For
each it prints a line of JSON: the token, the cities that the tool was called with, and the answer.
"""

import json
import logging
import sys

import dspy


def play(url, task, tool):
    """Ask in DSPy's own format."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    lm = dspy.LM("openai/m", api_base=url, api_key="x", cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return dspy.ReAct("question -> answer", tools=[tool], max_iters=5)(question=task["question"]).answer


def tool_of(task, cities):
    """Return the tool, which notes the cities that it is called with."""

    def look(city: str) -> str:
        """Returns the weather of a city."""
        cities.append(city)
        return task["result"]

    look.__name__ = task["tool"]
    return look


def main():
    """Play each trial."""
    logging.disable(logging.WARNING)
    task = json.load(sys.stdin)
    for trial in task["trials"]:
        cities = []
        try:
            said = str(play(f"{sys.argv[1]}/t/{trial}/v1", task, tool_of(task, cities)))
        except Exception as error:  # noqa: BLE001 - that is what is to be seen
            said = f"failed: {type(error).__name__}"
        sys.stdout.write(json.dumps([trial, cities, said]) + "\n")


main()
