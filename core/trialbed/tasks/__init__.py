"""Tasks as users write them in Python, with functions as tools, and the queries that they are."""

from trialbed.tasks._functions import ToolBody, function_tools
from trialbed.tasks._task import TASKS, Task, call, compile_tasks, write_queries

__all__ = ["TASKS", "Task", "ToolBody", "call", "compile_tasks", "function_tools", "write_queries"]
