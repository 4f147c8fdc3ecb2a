"""The table of probes, by theme."""

from trialbed_adapter_lab.probe import Probe, probes_of
from trialbed_adapter_lab.probes import (
    arguments,
    calls,
    claims,
    conditions,
    conversation,
    erring,
    faults,
    hygiene,
    invariants,
    isolation,
    limits,
    mistakes,
    patience,
    policies,
    schemas,
    sizes,
    traffic,
)

THEMES = (
    calls,
    conversation,
    arguments,
    faults,
    mistakes,
    schemas,
    limits,
    patience,
    sizes,
    conditions,
    claims,
    isolation,
    hygiene,
    invariants,
    policies,
    traffic,
    erring,
)


_LAST = "only_the_rig_is_talked_to"

PROBES: tuple[Probe, ...] = tuple(
    sorted((probe for theme in THEMES for probe in probes_of(theme)), key=lambda probe: probe.name == _LAST)
)
"""Every probe, in the order in which they are run: invariants after all whose trials they look at, then what policies
lead to, which much can change, and contacts last."""

CHECKS = tuple(probe for probe in PROBES if probe.level != "info")
"""Those that demand something."""

_QUICK = frozenset(
    (
        *("plain_answer", "no_tools", "single_call", "calls_reach_their_own_apis", "parallel_calls"),
        *("parallel_results_match_ids", "parallel_calls_overlap", "ids_may_be_equal", "argument_types_are_kept"),
        *("text_arguments_stay_text", "unicode_arguments", "hostile_argument_names", "empty_arguments"),
        *("unknown_tool_goes_back", "mistaken_arguments_are_no_call", "near_names_are_no_call", "slow_model"),
        *("calls_beside_text_are_made", "model_errors_are_named", "model_error_after_calls"),
        *("empty_answer_is_unfinished", "equal_calls_again_and_again", "trial_with_everything", "step_limit_is_kept"),
        *(
            "tool_order_is_kept",
            "descriptions_are_kept",
            "schema_nested",
            "schema_enum",
            "schema_union",
            "schema_notes",
        ),
        *("slow_tool_beside_quick_ones", "large_results_in_sum", "unfinished_is_no_answer", "cancelled_during_a_tool"),
        *("unicode_conversation", "answer_text_is_unchanged", "unicode_result", "json_result_is_not_rewritten"),
        *("temperature_is_sent", "seed_is_sent", "max_tokens_is_sent", "key_is_sent", "only_the_model_is_asked"),
        *("nothing_else_changes_the_model", "calls_are_claimed", "claimed_usage_is_the_sum", "unknown_usage_is_none"),
        *("conversations_start_afresh", "results_start_afresh", "two_trials_at_once", "no_tasks_are_left"),
        *("nothing_is_printed", "event_loop_stays_free", "surroundings_are_untouched", _LAST),
        *(check.name for check in invariants.EVERYWHERE),
    )
)

QUICK: tuple[Probe, ...] = tuple(check for check in CHECKS if check.name in _QUICK)
"""Those that need little time and find most defects: ``--quick``."""

__all__ = ["CHECKS", "PROBES", "QUICK", "THEMES"]
