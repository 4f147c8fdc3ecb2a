"""Prints what τ²-bench's own evaluator finds of the database; runs under the checkout's Python.

A line of JSON has a task's id and the calls, with their answers.
"""

import json
import sys

from tau2.data_model.message import AssistantMessage, ToolCall, ToolMessage
from tau2.domains.retail.environment import get_environment, get_tasks
from tau2.evaluator.evaluator_env import EnvironmentEvaluator

TASKS = {task.id: task for task in get_tasks()}

for line in sys.stdin:
    given = json.loads(line)
    messages = []
    for number, call in enumerate(given["calls"]):
        asked = ToolCall(id=str(number), name=call["name"], arguments=call["arguments"])
        messages.append(AssistantMessage(role="assistant", tool_calls=[asked]))
        messages.append(ToolMessage(id=str(number), role="tool", content=call["content"], error=call["failed"]))
    found = EnvironmentEvaluator.calculate_reward(get_environment, TASKS[given["task"]], messages)
    sys.stdout.write(f"{json.dumps(found.db_check.db_match)}\n")
    sys.stdout.flush()
