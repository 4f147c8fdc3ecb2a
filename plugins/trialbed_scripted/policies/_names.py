"""The names of the policies, without loading the policies."""

POLICY_NAMES = (
    *("gold", "parallel", "none", "partial", "reordered", "extra", "wrong-args", "bad-json", "unknown-tool", "retry"),
    *("loop", "slow", "giveup"),
)
"""The names that can follow ``scripted:``."""
