"""The names of the policies, for which none of them is loaded."""

POLICY_NAMES = (
    *("gold", "parallel", "none", "partial", "reordered", "extra", "wrong-args", "bad-json", "unknown-tool", "retry"),
    *("loop", "slow", "giveup"),
)
"""The names that can follow ``scripted:``."""
