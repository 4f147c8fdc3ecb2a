"""Verdicts on single answers, of Trialbed's judges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trialbed.answers import read_answer
from trialbed.contracts import Verdict
from trialbed.engine import standing_judge
from trialbed.records import Query, WireLog
from trialbed.settings import RunSettings
from trialbed_masbench._called import (
    calculate_api_call_score,
    extract_called_apis_from_answer_details,
    has_finish,
)
from trialbed_masbench._queries import QueryLoader
from trialbed_masbench.printing import Printer

JUDGE = "stabletoolbench"
"""The judge that decides in the order of StableToolBench's evaluator."""


class StableToolBenchEvaluator:
    """Evaluates answers with the judge ``stabletoolbench`` and a model.

    A verdict that cannot be had is an error; MASBench guesses it from the length of the answer then.

    Args:
        model_name: the judge's model, which is asked at ``OPENAI_BASE_URL``, or at OpenAI's address.
        verbose: whether verdicts are printed.
        stabletoolbench_root: a copy of StableToolBench with the prompts to use; None for Trialbed's.
    """

    def __init__(
        self,
        model_name: str = "gpt-4o-mini",
        verbose: bool = True,
        stabletoolbench_root: str | Path | None = None,
    ) -> None:
        self.model_name = model_name
        self.verbose = verbose
        self._prompts = stabletoolbench_root

    def check_has_finish(self, answer: Mapping[str, Any]) -> bool:
        """Return whether the details of an answer have a call of Finish."""
        return has_finish(answer)

    def calculate_api_call_score(self, query: Mapping[str, Any], answer: Mapping[str, Any]) -> float:
        """Return the share of the gold Apis that the answer names as called."""
        return calculate_api_call_score(
            extract_called_apis_from_answer_details(answer), QueryLoader.extract_gold_tool_calls(query)
        )

    def check_is_solved(self, query: Mapping[str, Any], answer: Mapping[str, Any], return_reason: bool = False) -> Any:
        """Return the status of an answer, ``Solved``, ``Unsure`` or ``Unsolved``, with the reason if that is asked for.

        Raises:
            TrialbedError: there is no verdict; says why.
        """
        verdict = self._verdict(query, answer)
        return (verdict.status, verdict.reason) if return_reason else verdict.status

    def evaluate_answer(self, query: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scores of an answer and the reason of its verdict, under MASBench's keys.

        Raises:
            TrialbedError: there is no verdict; says why.
        """
        started = time.perf_counter()
        verdict = self._verdict(query, answer)
        if self.verbose:
            Printer().print_result(verdict.status, verdict.value, self.calculate_api_call_score(query, answer))
        return {
            "sopr_score": verdict.value,
            "answer_status": verdict.status,
            "has_finish": has_finish(answer),
            "api_call_score": self.calculate_api_call_score(query, answer),
            "reason": verdict.reason,
            "evaluation_time": time.perf_counter() - started,
            "evaluation_method": JUDGE,
        }

    def _verdict(self, query: Mapping[str, Any], answer: Mapping[str, Any]) -> Verdict:
        # A program that runs an event loop may ask too.
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(lambda: asyncio.run(self._judge(query, answer))).result()

    async def _judge(self, query: Mapping[str, Any], answer: Mapping[str, Any]) -> Verdict:
        settings = RunSettings(
            judge=JUDGE,
            judge_model=self.model_name,
            judge_prompts=None if self._prompts is None else str(self._prompts),
        )
        whole = answer if "answer" in answer else {"answer": dict(answer)}
        async with standing_judge(settings) as (judge, _):
            return await judge.judge(
                _query(query), read_answer(whole, {}), WireLog(trial="", opened_at=datetime.now(UTC))
            )


class EvaluatorLoader:
    """Makes an evaluator from a copy of StableToolBench.

    Args:
        stabletoolbench_root: the copy with the prompts to use.
        model_name: the judge's model.
        verbose: whether verdicts are printed.
    """

    def __init__(self, stabletoolbench_root: str | Path, model_name: str = "gpt-4o-mini", verbose: bool = True) -> None:
        self.stabletoolbench_root = stabletoolbench_root
        self.model_name = model_name
        self.verbose = verbose

    def load_evaluator(self) -> StableToolBenchEvaluator:
        """Return an evaluator with the prompts of this copy."""
        return StableToolBenchEvaluator(self.model_name, self.verbose, self.stabletoolbench_root)


def _query(row: Mapping[str, Any]) -> Query:
    return Query(query_id=row.get("query_id", 0), text=str(row.get("query", "")), apis=())
