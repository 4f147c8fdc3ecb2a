"""MASBench's printer of progress and results in lines, with colours on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from trialbed.views import printable

WIDTH = 80


class Printer:
    """Prints lines to standard output.

    Args:
        use_colors: whether lines have colours, if the output is a terminal.
        verbose: whether anything but errors and results is printed.
    """

    def __init__(self, use_colors: bool = True, verbose: bool = True) -> None:
        self.use_colors = use_colors
        self.verbose = verbose

    def print_header(self, title: str, width: int = WIDTH) -> None:
        """Print a title between two lines."""
        self._print(f"{'=' * width}\n{title}\n{'=' * width}", "cyan")

    def print_step(self, step_num: int, total_steps: int, message: str, *_: Any) -> None:
        """Print the number of a step and what it does."""
        self._print(f"[{step_num}/{total_steps}] {message}", "blue")

    def print_info(self, message: str, indent: int = 0) -> None:
        """Print a message."""
        self._print(" " * indent + message)

    def print_progress(self, message: str, indent: int = 2) -> None:
        """Print what is being done."""
        self._print(f"{' ' * indent}{message} …")

    def print_success(self, message: str, indent: int = 0) -> None:
        """Print what was done."""
        self._print(" " * indent + message, "green")

    def print_warning(self, message: str, indent: int = 0) -> None:
        """Print what may go wrong."""
        self._print(f"{' ' * indent}Warning: {message}", "yellow")

    def print_error(self, message: str, indent: int = 0) -> None:
        """Print an error, even if nothing else is printed."""
        self._print(f"{' ' * indent}Error: {message}", "red", always=True)

    def print_query_header(self, query_num: int, total_queries: int, query_id: Any, query_text: str, *_: Any) -> None:
        """Print the number, the id and the text of a query."""
        self._print(f"query {query_num} of {total_queries}, {query_id}: {query_text}", "cyan")

    def print_result(self, status: str, sopr_score: float, api_score: float, *_: Any) -> None:
        """Print the verdict and the scores of an answer."""
        colour = {"Solved": "green", "Unsure": "yellow"}.get(status, "red")
        self._print(f"{status}: SoPR {sopr_score:.2f}, API call score {api_score:.2f}", colour, always=True)

    def print_summary(self, summary: Mapping[str, Any], output_file: str | None = None) -> None:
        """Print the figures of a run, and the path of their file."""
        for name, value in summary.items():
            shown = f"{value:.4f}" if isinstance(value, float) else value
            self._print(f"{name.replace('_', ' ')}: {shown}", always=True)
        if output_file:
            self._print(f"written: {output_file}", always=True)

    def _print(self, text: str, colour: str | None = None, *, always: bool = False) -> None:
        if self.verbose or always:
            lines = "\n".join(printable(line) for line in text.split("\n"))
            click.echo(click.style(lines, fg=colour) if self.use_colors else lines)


def get_printer(use_colors: bool = True, verbose: bool = True) -> Printer:
    """Return a printer."""
    return Printer(use_colors, verbose)


def print_header(title: str, width: int = WIDTH) -> None:
    """Print a title between two lines."""
    Printer().print_header(title, width)


def print_step(step_num: int, total_steps: int, message: str, *more: Any) -> None:
    """Print the number of a step and what it does."""
    Printer().print_step(step_num, total_steps, message, *more)


def print_info(message: str, indent: int = 0) -> None:
    """Print a message."""
    Printer().print_info(message, indent)


def print_success(message: str, indent: int = 0) -> None:
    """Print what was done."""
    Printer().print_success(message, indent)


def print_error(message: str, indent: int = 0) -> None:
    """Print what went wrong."""
    Printer().print_error(message, indent)


def print_warning(message: str, indent: int = 0) -> None:
    """Print what may go wrong."""
    Printer().print_warning(message, indent)


def print_progress(message: str, indent: int = 2) -> None:
    """Print what is being done."""
    Printer().print_progress(message, indent)


def print_query_header(query_num: int, total_queries: int, query_id: Any, query_text: str, *more: Any) -> None:
    """Print the number, the id and the text of a query."""
    Printer().print_query_header(query_num, total_queries, query_id, query_text, *more)


def print_result(status: str, sopr_score: float, api_score: float, *more: Any) -> None:
    """Print the verdict and the scores of an answer."""
    Printer().print_result(status, sopr_score, api_score, *more)


def print_summary(summary: Mapping[str, Any], output_file: str | None = None) -> None:
    """Print the figures of a run, and the path of their file."""
    Printer().print_summary(summary, output_file)
