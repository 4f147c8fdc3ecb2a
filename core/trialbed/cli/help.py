"""The command ``bench help``."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.completion import completes
from trialbed.cli.options import json_option, print_json

if TYPE_CHECKING:
    from trialbed.record_fields import DescribedRecord

EPILOG = """\b
Examples:
  bench help
  bench help records
  bench help records Query
  bench help records Query --json
  bench help run
"""

RECORDS = "records"
TOPICS = {RECORDS: "What plugins are given, and what they return; with NAME, the fields of one."}
"""Topics with their descriptions."""

OTHERS = "bench --help lists the commands, and bench help COMMAND explains one."

WIDTH = 100
"""The most columns of a text."""


def _record_names() -> list[str]:
    from trialbed.record_fields import describe_records

    return list(describe_records())


@click.command("help", epilog=EPILOG)
@click.argument("topic", required=False, shell_complete=completes(lambda: TOPICS))
@click.argument("name", required=False, shell_complete=completes(_record_names))
@json_option
@click.pass_context
def command(ctx: click.Context, topic: str | None, name: str | None, as_json: bool) -> None:
    """Explain a topic, such as the fields of records, or a command.

    TOPIC is "records" or a command, with NAME for one of its own. Without a topic, topics are listed.
    """
    from trialbed.record_fields import describe_record, describe_records

    content: Any
    if topic is None:
        content = _entries(TOPICS, "topic") if as_json else f"{_format_list(TOPICS)}\n\n{OTHERS}"
    elif topic != RECORDS:
        content = _command_help(ctx, topic, name)
        if as_json:
            raise click.UsageError(f"--json goes with topics, and {topic!r} is a command")
    elif name is None:
        meanings = {record.name: record.meaning for record in describe_records().values()}
        content = _entries(meanings, "record") if as_json else _format_list(meanings)
    else:
        record = describe_record(name)
        if record is None:
            raise click.UsageError(f"there is no record {name!r}{_suggestion(name, _record_names())}")
        content = asdict(record) if as_json else "\n".join(_record_lines(record))
    if as_json:
        print_json(content)
    else:
        click.echo(content)


def _command_help(ctx: click.Context, topic: str, name: str | None) -> str:
    """Return what ``bench TOPIC [NAME] --help`` prints."""
    context = ctx.find_root()
    for part in (topic, name) if name else (topic,):
        context = click.Context(_inner(context, part), parent=context, info_name=part)
    return context.get_help()


def _inner(context: click.Context, name: str) -> click.Command:
    """Return the command of this name within a group.

    Raises:
        UsageError: there is none; suggests one, at the root also a topic.
    """
    group = context.command
    inner = group.list_commands(context) if isinstance(group, click.Group) else []
    found = group.get_command(context, name) if isinstance(group, click.Group) and name in inner else None
    if found is None:
        start = f"{context.command_path!r} has no" if context.parent else "there is no topic or"
        known = inner if context.parent else [*TOPICS, *inner]
        raise click.UsageError(f"{start} command {name!r}{_suggestion(name, known)}")
    return found


def _suggestion(name: str, known: Iterable[str]) -> str:
    from trialbed.suggestions import closest, did_you_mean

    written = {text.lower(): text for text in known}
    close = closest(name.lower(), written)
    return did_you_mean(written[close] if close else None)


def _entries(meanings: dict[str, str], key: str) -> list[dict[str, str]]:
    return [{key: name, "meaning": meaning} for name, meaning in meanings.items()]


def _format_list(meanings: dict[str, str]) -> str:
    indent = " " * (max(map(len, meanings)) + 2)
    return "\n".join(_wrap(meaning, f"{name:<{len(indent)}}", indent) for name, meaning in meanings.items())


def _record_lines(record: DescribedRecord) -> Iterator[str]:
    from trialbed.record_fields import MADE_ANEW

    yield f"{record.name}\n\n{_wrap(record.meaning, '', '')}"
    for field in record.fields:
        default = f" = {field.default}" if field.default else "  (must be given)"
        default = f"  ({MADE_ANEW})" if field.default == MADE_ANEW else default
        yield f"\n  {field.name}: {field.type}{default}"
        if field.meaning:
            yield _wrap(field.meaning, "      ", "      ")


def _wrap(text: str, first: str, others: str) -> str:
    width = min(shutil.get_terminal_size().columns, WIDTH)
    return click.wrap_text(text, width, first, others)
