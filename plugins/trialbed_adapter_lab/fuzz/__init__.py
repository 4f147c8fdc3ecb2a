"""A fuzzer of adapters: it draws conversations until one breaks an invariant, and finds the shortest that does."""

from trialbed_adapter_lab.fuzz._conversation import Conversation, DrawnCall, DrawnTurn
from trialbed_adapter_lab.fuzz._playing import play, play_lines, tell_trials_apart
from trialbed_adapter_lab.fuzz._search import Breach, search

__all__ = ["Breach", "Conversation", "DrawnCall", "DrawnTurn", "play", "play_lines", "search", "tell_trials_apart"]
