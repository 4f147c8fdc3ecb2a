"""The budget of a run, and the part of it that its requests have used."""

from __future__ import annotations

from trialbed.records import Budget, Usage


class Spending:
    """Counts the tokens of a run's models against its budget.

    Args:
        budget: None for no limit.
    """

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._spent = budget.spent if budget else 0.0

    def use(self, model: str, usage: Usage) -> None:
        """A model has answered a request of a trial."""
        if self._budget is not None and self._budget.is_for(model):
            self._spent += self._budget.amount(usage, model)

    def use_by_helper(self, usage: Usage, cost: float | None) -> None:
        """A model has answered a helper of the run."""
        if self._budget is not None:
            self._spent += self._budget.helpers_part(usage, cost)

    def add(self, amount: float) -> None:
        """Helpers that are not in this process have used so much."""
        self._spent += amount

    def refusal(self, model: str) -> str | None:
        """Return why a model is not asked any more; None where it may be."""
        budget = self._budget
        if budget is None or not budget.is_for(model) or self._spent < budget.limit:
            return None
        return f"the budget of this run is used up: {budget.text_of(self._spent)} of {budget.text_of(budget.limit)}"
