"""Reading what frameworks sent. It runs no trial and needs only the wire log.

Requests are read (``body``, ``messages``, ``sent_tools``), tools that were sent are matched with those that were
given, and JSON values, tools, conversations and numbers of requests are compared with what they should be.
"""

from trialbed_adapter_lab.differences import Difference, differences, is_same
from trialbed_adapter_lab.fidelity.reading._conversation import MessageChange, message_changes
from trialbed_adapter_lab.fidelity.reading._requests import Requests, body, conversation, explain, messages
from trialbed_adapter_lab.fidelity.reading._tools import (
    COMPARED,
    Effect,
    Order,
    SentTool,
    find_changes,
    match_tools,
    order_of,
    sent_tools,
    worst,
)

__all__ = [
    "COMPARED",
    "Difference",
    "Effect",
    "MessageChange",
    "Order",
    "Requests",
    "SentTool",
    "body",
    "conversation",
    "differences",
    "explain",
    "find_changes",
    "is_same",
    "match_tools",
    "message_changes",
    "messages",
    "order_of",
    "sent_tools",
    "worst",
]
