"""The checks that name the cause of each mutant: one of them is to head a right report."""

from __future__ import annotations

SCHEMA = "schema_"
"""Stands for every check of schemas."""

TEXTS = ("prompt_and_query_stay", "unicode_conversation", "long_conversation", "query_and_prompt_are_sent")
ADDED = ("turns_are_added_as_they_were", "nothing_is_added_to_the_messages")
SHORTENED = ("conversation_only_grows", "very_long_trial")
SHORTENED_RESULTS = ("conversation_only_grows", "large_results_in_sum", "results_go_back_whole", "large_results")
TURNS = ("thoughts_in_the_answer_are_kept", "turns_are_added_as_they_were", "thoughts_beside_calls_are_kept")
ORDER = ("parallel_results_match_ids", "results_go_back_whole", "turns_are_added_as_they_were", "claims_are_in_order")
RESULTS = (
    "results_go_back_whole",
    "unicode_result",
    "json_result_is_not_rewritten",
    "large_results",
    "large_results_in_sum",
)
ERRORS = ("results_go_back_whole", "tool_error_goes_to_the_model", "broken_api_goes_to_the_model")
ONE_RESULT_EACH = ("turns_are_added_as_they_were", "results_go_back_whole", "many_calls_in_one_turn")
SETTINGS = ("settings_stay",)
TEMPERATURE = ("temperature_is_sent", "settings_stay")
SEED = ("seed_is_sent", "settings_stay")
MAX_TOKENS = ("max_tokens_is_sent", "settings_stay")
MODEL = ("model_names_of_vendors_are_kept", "model_is_named", "settings_stay")
CHANGES = ("nothing_else_changes_the_model", "nothing_else_is_set", "settings_stay")
TOOLS_LATER = ("tools_stay", "no_other_tools_are_offered")
MANY_TOOLS = ("thousand_tools",)
OFFERED = ("all_tools_are_offered", "descriptions_are_kept", "tools_stay", "no_other_tools_are_offered")
NAMES_KEPT = ("tool_names_are_kept", "similar_tool_names_are_told_apart")
NEAR = ("near_names_are_no_call", "unknown_tool_goes_back")
WRITTEN = ("mistaken_arguments_are_no_call", "calls_are_claimed")
ARGUMENTS = (
    *("argument_types_are_kept", "text_arguments_stay_text", "unicode_arguments", "hostile_argument_names"),
    *("large_arguments", "calls_are_the_models", "arguments_are_not_repaired"),
)
REPEATED = ("equal_calls_again_and_again",)
GUARD = ("very_long_trial", "results_go_back_whole", "claims_are_right_everywhere", *REPEATED)
TWICE = (
    "broken_api_goes_to_the_model",
    "calls_are_the_models",
    "json_result_is_not_rewritten",
    "tool_that_takes_too_long",
)
PATIENCE = ("slow_tool_beside_quick_ones", "slow_model", "tool_that_takes_too_long")
OVERLAP = ("parallel_calls_overlap", "twenty_calls_overlap")
WRITTEN_CALLS = ("written_calls_are_not_made", "written_calls_are_the_answer")
ANSWER = ("answers_are_the_last_text", "answer_text_is_unchanged", "long_conversation")
THOUGHTS = ("thoughts_in_the_answer_are_kept",)
EMPTY = (
    "answers_are_the_last_text",
    "empty_answer_is_unfinished",
    "empty_answer_ends_the_run",
)
CLAIMS = ("calls_are_claimed", "claims_are_right_everywhere")
RESPONSES = ("responses_are_claimed_whole",)
USAGE = ("usage_is_right_everywhere", "claimed_usage_is_the_sum", "unknown_usage_is_none")
TURNS_CLAIMED = ("claimed_turns_are_right", "turns_are_right_everywhere", "conversations_start_afresh")
RETRIES = (
    "model_errors_are_not_retried",
    "model_errors_fail_the_trial",
    "model_error_after_calls",
    "broken_responses_fail_the_trial",
)
QUIET = ("model_error_after_calls", "broken_responses_fail_the_trial")
LIMIT = ("very_long_trial",)
UNFINISHED = ("unfinished_is_no_answer", "step_limit_is_kept", "refusal_is_not_an_answer")
AFRESH = ("conversations_start_afresh", "tools_start_afresh", "results_start_afresh", "trials_at_once")
STRAYS = ("nothing_else_is_asked", "only_the_model_is_asked")
TOGETHER = ("trials_run_at_the_same_time", "trials_at_once")

_NAMED: dict[tuple[str, ...], str] = {
    TEXTS: (
        "StripsThePrompt ComposesThePrompt RewritesLineEndsOfThePrompt SquashesBlankLinesOfThePrompt CutsLongPrompts "
        "KeepsAsciiOfThePrompt DoublesBraces DropsThePromptAfterErrors "
        "StripsTheQuery ComposesTheQuery RewritesLineEndsOfTheQuery SquashesBlanksOfTheQuery CutsLongQueries "
        "ExpandsTabs EscapesTheQuery FillsTemplates DropsInvisibleCharacters MasksAddresses StripsQueryAndPrompt"
    ),
    (*ADDED, "conversation_only_grows"): (
        "AddsToThePromptLater RemindsEverySevenTurns RepeatsTheQuery MovesThePrompt DoublesThePrompt "
        "ApologisesAfterErrors RemindsEveryFiveTurns AnnouncesTheLimit"
    ),
    SHORTENED: ("KeepsTwentyFiveTurns KeepsFiftyTurns ForgetsOldFailures"),
    SHORTENED_RESULTS: ("KeepsABudgetOfCharacters KeepsABudgetOfResults OmitsOlderResults"),
    ORDER: ("SortsResults GathersAsCompleted"),
    ("many_calls_in_one_turn", "results_go_back_whole"): ("ExchangesResults"),
    ("trial_with_everything",): ("MakesOneCallAfterErrors"),
    ("nothing_pauses",): ("WaitsBeforeLaterRequests"),
    ONE_RESULT_EACH: ("JoinsResults KeepsEightResults RefersToEqualResults"),
    TURNS: ("DropsTextBesideSeveralCalls JoinsLinesOfPlans ForgetsThoughtsInText"),
    SEED: ("SeedsOnce ReseedsAfterErrors FoldsSeeds GrowsSeeds"),
    TEMPERATURE: ("CoolsNoMoreAfterErrors RoundsTheTemperature BoundsTheTemperature HeatsUp HeatsUpAfterErrors"),
    MAX_TOKENS: ("SavesTokens BoundsLaterTurns"),
    MODEL: ("FoldsTheModelsName CutsTheModelsName AsksASmallModelLater"),
    CHANGES: (
        "PenalisesRepetition ForcesTheFirstCall ForcesCallsAfterErrors ForbidsCallsNearTheLimit "
        "ForbidsParallelCallsOfMany AsksForParallelCallsOfMany StopsAtObservations ThinksLessLater "
        "AsksForTwo ForbidsCallsAtTheLimit"
    ),
    TOOLS_LATER: (
        "OffersNothingAfterErrors OffersNothingAtTheLimit WithdrawsTools ReversesToolsLater OffersAnEndLater "
        "OffersNothingAfterEightResults"
    ),
    OFFERED: ("DropsEqualDescriptions OffersToolsTwice"),
    MANY_TOOLS: ("Offers64Tools Offers128Tools"),
    ("descriptions_are_kept",): ("CutsDescriptions DescribesByName KeepsFirstLines"),
    (
        "descriptions_are_kept",
        SCHEMA,
    ): ("DropsDescriptionsOfParameters CutsDescriptionsOfParameters JoinsLinesOfDescriptions"),
    ("tool_order_is_kept",): ("SwapsToolsOfOneSchema"),
    ("nothing_is_added_to_the_messages", "nothing_else_is_set", SCHEMA): ("DeclaresStrict"),
    NAMES_KEPT: ("ReplacesHyphens CutsNames"),
    (SCHEMA,): (
        "DropsConst DropsBoundsOfNumbers DropsBoundsOfLengths DropsPatterns DropsExamples DropsTitles DropsOneOf "
        "DropsAllOf DropsPrefixItems AddsTitles RequiresNothing RequiresEverything WidensIntegers TakesTheFirstType "
        "EnumeratesTexts SortsParameters FlattensSchemas KeepsAsciiOfSchemas"
    ),
    NEAR: (
        "FoldsCaseOfNames DropsNamespaces StripsNames FoldsHyphensOfNames GuessesNames CutsNamesOfCalls "
        "TakesTheOnlyTool"
    ),
    WRITTEN: (
        "DecodesTwice ReadsPython DropsTrailingCommas OpensFences TakesTheFirstObject OpensLists NamesBareTexts "
        "CompletesArguments TakesNullForNone CallsWithoutUnreadableArguments"
    ),
    ARGUMENTS: (
        "DropsNulls DropsEmptyValues DropsFalsyValues StripsArguments ComposesArguments RewritesLineEndsOfArguments "
        "UnescapesArguments UnquotesArguments CountsTruth NarrowsFloats WritesObjectsAsText OpensSingleLists "
        "DropsDuplicates CutsArguments NarrowsNestedFloats DropsNestedNulls RoundsArguments CoercesBySchema "
        "RewritesTimes FoldsNamesOfArguments DropsPrivateArguments ComposesLettersOfArguments"
    ),
    REPEATED: ("DropsEqualCalls"),
    ("many_calls_in_one_turn",): ("MakesSixteenCalls"),
    (
        "calls_beside_text_are_made",
        "turns_are_added_as_they_were",
        "trial_with_everything",
        "answers_are_the_last_text",
    ): ("EndsWithText"),
    GUARD: (
        "RefusesTheFifthEqualCall RefusesTheSixthInSuccession MakesThirtyFiveCalls MakesAHundredCalls "
        "GuardsAgainstLoops"
    ),
    TWICE: ("RepeatsAfterNothing RepeatsAfterErrors RepeatsSlowCalls"),
    PATIENCE: ("WaitsTwoSecondsForTools WaitsFiftySecondsForTools LeavesTheSlowBehind WaitsLittleForCalls"),
    ("slow_model",): (
        "Waits3SecondsForTheModel Waits5SecondsForTheModel Waits10SecondsForTheModel Waits20SecondsForTheModel "
        "Waits60SecondsForTheModel Waits120SecondsForTheModel SendsAgainWhenSlow"
    ),
    OVERLAP: ("MakesEightAtOnce MakesFourAtOnce"),
    ("valid_calls_beside_invalid_ones", "parallel_calls_overlap", "parallel_results_match_ids"): (
        "StopsATurnAtAnError"
    ),
    ("event_loop_stays_free",): ("HoldsTheLoop HoldsTheLoopBeforeRequests"),
    RESULTS: (
        "StripsResults DropsTheLastLineEnd CutsResults LeavesTheMiddleOut ComposesResults RewritesLineEndsOfResults "
        "DropsTags EmptiesNull WordsForNothing UnquotesResults RewritesNumbers MasksKeys ReplacesEmoji "
        "CapitalisesTruth SquashesBlankLinesOfResults"
    ),
    ERRORS: ("AdvisesAfterErrors ShortensErrors TrimsErrors"),
    WRITTEN_CALLS: ("ReadsTags ReadsFences ReadsActions ReadsPythonCalls ReadsBareJson"),
    ANSWER: (
        "StripsAnswers CutsToTheFinalAnswer UnquotesAnswers OpensFencesOfAnswers RewritesAnswers CutsAnswers "
        "TakesTheLastLine ComposesAnswers RewritesLineEndsOfAnswers JoinsTexts TakesTheFirstText DropsCitations "
        "KeepsAsciiOfAnswers"
    ),
    THOUGHTS: ("DropsThoughts"),
    EMPTY: ("AnswersWithThoughts TakesAnEarlierText TakesTheLastResult"),
    CLAIMS: ("ClaimsCallsWithArguments ClaimsEqualCallsOnce ClaimsFiftyCalls ClaimsTexts ClaimsTheLastCallTwice"),
    RESPONSES: ("CutsClaimedResponses StripsClaimedResponses ClaimsTheFirstResponse CutsClaimedResponsesEarly"),
    USAGE: ("ClaimsTheAverage CountsCachedTokensTwice CountsReasoningTwice CountsAudioTokens ForgetsUsageAtTheLimit"),
    TURNS_CLAIMED: ("ClaimsCallsAsTurns"),
    ("answers_count_whatever_the_finish_reason",): ("RaisesOnOddReasons"),
    RETRIES: (
        "RepeatsAfter503 RepeatsAfter429 RepeatsAfterNonsense RepeatsAfterABreak RepeatsWithoutTools RepeatsLater"
    ),
    QUIET: ("EndsQuietlyLater EndsQuietlyAfterNonsense"),
    LIMIT: ("StopsAfter15Turns StopsAfter25Turns StopsAfter50Turns StopsAfter100Turns"),
    UNFINISHED: ("AnswersWithAPlan"),
    (*AFRESH, "prompt_and_query_stay", "settings_stay", "tools_stay"): (
        "KeepsTheFirstPrompt KeepsTheFirstTemperature KeepsTheFirstSeed KeepsTheFirstModel KeepsEarlierTools "
        "RemembersAnswers RemembersErrors"
    ),
    (*SETTINGS, "temperature_is_sent"): ("SamplesEveryTenthTrial"),
    STRAYS: ("LooksModelsUpAtTimes LooksModelsUpOnce"),
    TOGETHER: ("AsksOneAtATime CallsOneAtATime"),
    ("connection_is_reused",): ("ConnectsAnewLater"),
}

NAMED = {name: checks for checks, names in _NAMED.items() for name in names.split()}
"""The name of a mutant -> the checks that name its cause."""


def names_cause(mutant: str, check: str) -> bool:
    """Return whether a check names the cause of a mutant."""
    return any(check == name or (name == SCHEMA and check.startswith(SCHEMA)) for name in NAMED.get(mutant, ()))
