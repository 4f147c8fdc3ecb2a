"""Prints what τ²-bench's own evaluators find of environments and calls; runs under the checkout's Python.

A line of JSON has a task's id and the calls, with their answers. The argument is the domain.
"""

import json
import sys
from importlib import import_module

from tau2.data_model.message import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tau2.evaluator.evaluator_action import ActionEvaluator
from tau2.evaluator.evaluator_env import EnvironmentEvaluator

DOMAIN = import_module(f"tau2.domains.{sys.argv[1]}.environment")
TASKS = {task.id: task for task in DOMAIN.get_tasks()}
SPEAKERS = {"assistant": AssistantMessage, "user": UserMessage}

for line in sys.stdin:
    given = json.loads(line)
    messages, task = [], TASKS[given["task"]]
    for number, call in enumerate(given["calls"]):
        by = call["requestor"]
        asked = ToolCall(id=str(number), name=call["name"], arguments=call["arguments"], requestor=by)
        messages.append(SPEAKERS[by](role=by, tool_calls=[asked]))
        answer = {"content": call["content"], "error": call["failed"], "requestor": by}
        messages.append(ToolMessage(id=str(number), role="tool", **answer))
    rewards = [EnvironmentEvaluator.calculate_reward(DOMAIN.get_environment, task, messages).reward]
    if "ACTION" in task.evaluation_criteria.reward_basis:
        rewards.append(ActionEvaluator.calculate_reward(task, messages).reward)
    sys.stdout.write(f"{json.dumps(min(rewards) == 1)}\n")
    sys.stdout.flush()
