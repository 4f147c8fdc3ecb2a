"""A judge; each place to change is marked REPLACE."""

from __future__ import annotations

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.records import Answer, Query, WireLog


class NewPluginJudge(Judge):
    """Finds an answer solved that says every fact of the query."""

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade one answer."""
        # REPLACE: facts are looked for in the text as they are.
        missing = [fact for fact in query.reference_facts if fact not in answer.final_answer]
        status: AnswerStatus = "Unsolved" if missing or not answer.final_answer else "Solved"
        reason = f"it does not say {missing[0]!r}" if missing else "it says every fact"
        return Verdict(status=status, value=STATUS_VALUES[status], reason=reason, votes=(status,))
