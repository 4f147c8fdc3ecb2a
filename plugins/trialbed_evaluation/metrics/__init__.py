"""Metrics of conversations with tools, under the names that Ragas gives them.

``tool_call_accuracy`` and ``tool_call_f1`` compare calls and say, in a diagnosis, which went wrong and why.
``topic_adherence`` and ``agent_goal_accuracy`` ask a model. Each follows Ragas 0.4.3 exactly with ``compat="ragas"``.
The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
