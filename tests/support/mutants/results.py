"""Mutants of what tools return."""

from __future__ import annotations

import json
import re
import unicodedata

from support.mutants._mutant import at

# Results


@at("content", "a result loses the blanks around it")
def strips_results(_, content):
    return content.strip()


@at("content", "a result loses its line end")
def drops_the_last_line_end(_, content):
    return content.removesuffix("\n")


@at("content", "a result is cut at 30,000 characters")
def cuts_results(_, content):
    return content[:30_000]


@at("content", "the middle of a long result is left out")
def leaves_the_middle_out(_, content):
    return content if len(content) < 50_000 else content[:25_000] + "\n[...]\n" + content[-25_000:]


@at("content", "results are composed anew")
def composes_results(_, content):
    return unicodedata.normalize("NFC", content)


@at("content", "line ends of results are rewritten")
def rewrites_line_ends_of_results(_, content):
    return content.replace("\r\n", "\n")


@at("content", "tags are dropped from results")
def drops_tags(_, content):
    return re.sub(r"</?[a-z]+>", "", content)


@at("content", "results that are null become empty")
def empties_null(_, content):
    return "" if content == "null" else content


@at("content", "results that are false, 0 or an empty list become words")
def words_for_nothing(_, content):
    return "No result" if content in ("false", "0", "[]", "{}") else content


@at("content", "a result that is a JSON text loses its quotes")
def unquotes_results(_, content):
    return json.loads(content) if re.fullmatch(r'"[^"\\]*"', content) else content


@at("content", "errors of tools get advice")
def advises_after_errors(_, content):
    return content + "\nPlease fix your mistakes." if content.startswith("Error") else content


@at("content", "details of an error are left out")
def shortens_errors(_, content):
    return "Error: the call failed" if content.startswith("Error") else content


@at("content", "numbers in results that are JSON are written anew")
def rewrites_numbers(_, content):
    return re.sub(r"\b(\d+)\.0\b", r"\1", content)


@at("content", "what looks like a key is masked in results")
def masks_keys(_, content):
    return re.sub(r"\b[0-9a-f]{32}\b|\bsk-\w+", "[key]", content)


@at("content", "letters outside of the basic plane are replaced in results")
def replaces_emoji(_, content):
    return "".join(char if ord(char) < 0x10000 else "?" for char in content)
