"""Tasks as users write them in Python, with functions as tools, and the queries that they are."""

from trialbed.tasks._dataset import TASKS, TaskDataset, misfit, write_queries
from trialbed.tasks._expect import Expect, Turn
from trialbed.tasks._functions import AnsweredApi, ApiBody, ToolBody, function_tools
from trialbed.tasks._task import MARK, CompiledTasks, Task, call, compile_tasks, tool

__all__ = [
    "MARK",
    "TASKS",
    "AnsweredApi",
    "ApiBody",
    "CompiledTasks",
    "Expect",
    "Task",
    "TaskDataset",
    "ToolBody",
    "Turn",
    "call",
    "compile_tasks",
    "function_tools",
    "misfit",
    "tool",
    "write_queries",
]
