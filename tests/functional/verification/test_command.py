"""``bench verify`` with one endpoint, as a user meets it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.bench import Finished
from support.verification import KEY, rows, stored, written_set
from support.wire import reply, saying

from trialbed_scripted import serve

Run = Callable[..., Awaitable[Finished]]

SECRET = "sk-on-the-command-line-123"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written_set(tmp_path / "set.jsonl", 12, stream=True)


def nobody() -> str:
    """A URL where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def texts(folder: Path) -> list[str]:
    """What the files of a folder hold, the store among them."""
    return [path.read_text(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file()]


async def test_the_report_has_tables_files_and_examples(bench: Run, file: Path, tmp_path: Path) -> None:
    script = '{"mix": {"none": 4, "cut_stream": 1, "bad_arguments": 1}, "seed": 4, "answers": {"gap": 0.003}}'
    printed = {}
    for form in ("csv", "markdown", "table"):
        async with serve(faults=script) as server:
            arguments = ("verify", file, "--model", "m", "--base-url", server.url, "--fresh", "--format", form)
            printed[form] = (await bench(*arguments)).out
    found = rows(tmp_path / "results.jsonl")
    cut = [row["data_index"] for row in found if row["outcome"] == "protocol_error"]
    broken = [row["data_index"] for row in found if row["calls"] and row["calls"][0]["valid"] is False]
    assert cut
    assert broken
    for text in (" ".join(printed["table"].split()), " ".join(printed["markdown"].replace("\\_", "_").split())):
        cells = text.replace("| ", "")
        assert f"failed: cut_stream {len(cut)} " in cells
        assert f"wrong calls: invalid_json {len(broken)} " in cells
        assert "cut_stream, trial " in text
        assert "fp_scripted" in text
    assert server.url in printed["table"]
    (record,) = csv.DictReader(io.StringIO(printed["csv"]))
    assert (record["requests_ended"], record["failed"]) == ("12", str(len(cut)))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [example["line"] for example in summary["examples"]["problems"]["cut_stream"]] == cut[:3]
    assert [example["line"] for example in summary["examples"]["calls"]["invalid_json"]] == broken[:3]


async def test_every_case_is_sent_as_often_as_asked_and_more_trials_can_follow(bench: Run, file: Path) -> None:
    async with serve() as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url, "--json")
        first = (await bench(*arguments, "--trials", 2)).document
        assert (first["case_count"], server.met.total()) == (24, 24)
        second = (await bench(*arguments, "--trials", 3, "--incremental")).document
        assert (second["case_count"], server.met.total()) == (36, 36)
        fewer = (await bench(*arguments, "--trials", 1, "--incremental")).document
        assert (fewer["case_count"], server.met.total()) == (36, 36)
    keys = [(row["data_index"], row["trial"]) for row in rows(file.with_name("results.jsonl"))]
    assert keys == [(line, trial) for line in range(1, 13) for trial in range(3)]


@pytest.mark.parametrize(("script", "said"), [("status:401", "http_401"), ("html", "html"), ("reset_before", "reset")])
async def test_where_nothing_is_answered_it_ends_with_3_and_says_what_it_met(
    script: str, said: str, bench: Run, file: Path
) -> None:
    async with serve(faults=script) as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url, "--retries", 0)
        done = await bench(*arguments, code=3)
    assert "Error: no request was answered:" in done.err
    assert f"m at {server.url}: 12 {said}: " in done.err
    assert "Check the base URL" in done.err


async def test_a_plain_port_at_https_is_said_to_be_one(bench: Run, file: Path) -> None:
    async with serve() as server:
        url = server.url.replace("http:", "https:")
        done = await bench("verify", file, "--model", "m", "--base-url", url, "--api-key", "k", "--retries", 0, code=3)
    assert "this port speaks plain HTTP: use http:// in the address" in done.err
    assert "Check the base URL: its host and port, and whether these speak http:// or https://" in done.err


async def test_a_proxy_that_is_not_there_is_named_without_its_password(bench: Run, tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    for scheme, variable in (("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY")):
        asked = ("--model", "m", "--base-url", f"{scheme}://vendor.example/v1", "--retries", 0, "--fresh")
        proxy = {variable: "http://user:pass-for-proxy@127.0.0.1:9", "NO_PROXY": "", "no_proxy": ""}
        done = await bench("verify", file, *asked, code=3, **proxy)
        assert f"m at {scheme}://vendor.example/v1 through {variable}, http://127.0.0.1:9: 1 connect" in done.err
        assert "Check the proxy that the variable names, or set NO_PROXY" in done.err
        assert "pass-for-proxy" not in done.out + done.err


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("429 No", b'{"error": {"code": "insufficient_quota"}}', "The account is out of credit: top it up"),
        ("429 No", b'{"error": "slow down"}', "The vendor limits requests: wait, or use a lower --concurrency"),
        ("503 No", b"overloaded", "The vendor failed: wait until it has recovered"),
        ("401 No", b"unknown key", "Check the base URL (it ends before /chat/completions), the key and"),
    ],
)
async def test_advice_fits_the_failure(status: str, body: bytes, said: str, bench: Run, file: Path) -> None:
    async with saying(reply(f"Content-Length: {len(body)}", status=f"HTTP/1.1 {status}", body=body)) as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url, "--retries", 0)
        done = await bench(*arguments, code=3)
    *_, advice = done.err.strip().splitlines()
    assert advice.startswith(said)
    assert advice.endswith("then run the same command again.")


@pytest.mark.parametrize("key", ["  ", "sk-two sk-words"])
async def test_a_key_that_is_none_is_refused_before_anything_is_sent(key: str, bench: Run, file: Path) -> None:
    async with serve() as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url)
        assert "key" in (await bench(*arguments, "--api-key", key, code=2)).err
        assert "key" in (await bench(*arguments, code=2, OPENAI_API_KEY=key)).err
        assert server.met.total() == 0


async def test_only_a_server_of_this_machine_needs_no_key(bench: Run, file: Path) -> None:
    async with serve() as server:
        await bench("verify", file, "--model", "m", "--base-url", server.url, OPENAI_API_KEY="")
        assert server.met.total() > 0
    far = ("verify", file, "--model", "m", "--base-url", "http://vendor.invalid/v1")
    assert "put OPENAI_API_KEY into" in (await bench(*far, code=2, OPENAI_API_KEY="")).err
    no_url = ("verify", file, "--model", "m", "--base-url", "not-a-url")
    assert "--base-url: a base URL must begin with" in (await bench(*no_url, code=2, OPENAI_API_KEY="")).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        (),
        ("--base-url", "nonsense", "--model", "m"),
        ("--base-url", "http://h/v1", "--model", "m", "--timeout", "never"),
        ("--base-url", "http://h/v1", "--model", "m", "--model-type", "nobody"),
        ("--config", "config.yaml"),
    ],
)
async def test_a_key_is_shown_nowhere(arguments: tuple[str, ...], bench: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("m: [\n")
    code = 0 if "--help" in arguments else 2
    done = await bench("verify", file, "--api-key", SECRET, *arguments, code=code, OPENAI_API_KEY=KEY)
    assert SECRET not in done.out + done.err
    assert KEY not in done.out + done.err


async def test_a_key_that_a_vendor_sends_back_is_in_no_report(bench: Run, file: Path, tmp_path: Path) -> None:
    async with serve(faults="echo_key:403") as server:
        arguments = ("--model", "m", "--base-url", server.url)
        done = await bench("verify", file, *arguments, "--api-key", SECRET, code=3)
    assert not any(SECRET in text for text in (done.out, done.err, *texts(tmp_path)))
    assert "[redacted]" in (tmp_path / "results.jsonl").read_text()


async def test_a_key_in_the_url_or_in_the_extra_body_is_in_no_report(bench: Run, file: Path, tmp_path: Path) -> None:
    other = "another-secret-0123"
    body = json.dumps({"routing": {"api_key": other}, "note": SECRET})
    async with serve(faults="none") as server:
        arguments = ("--model", "m", "--base-url", f"{server.url}/{SECRET}")
        done = await bench("verify", file, *arguments, "--api-key", SECRET, "--extra-body", body, code=3)
    told = (done.out, done.err, *texts(tmp_path))
    assert not any(secret in text for text in told for secret in (SECRET, other))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--output", "set.jsonl", "--fresh"), "named both for the results of"),
        (("--summary", "results.jsonl"), "named both for the summary of"),
        (("--summary", "set.jsonl"), "named both for the summary of"),
        (("--output", "set.jsonl/results.jsonl"), "cannot be written"),
        (("--summary", "set.jsonl/summary.json"), "cannot be written"),
        (("--summary", "/dev/null"), "not a regular file"),
    ],
)
async def test_files_that_cannot_be_written_are_refused_before_anything_is_sent(
    arguments: tuple[str, ...], message: str, bench: Run, file: Path
) -> None:
    before = texts(file.parent)
    async with serve() as server:
        done = await bench("verify", file, "--model", "m", "--base-url", server.url, *arguments, code=2)
        assert server.met.total() == 0
    assert message in done.err
    assert texts(file.parent) == before


async def test_what_a_vendor_says_does_not_steer_the_terminal(bench: Run, file: Path) -> None:
    said = b"\x1b[31mred\x1b]0;title\x07"
    async with saying(reply(f"Content-Length: {len(said)}", status="HTTP/1.1 403 No", body=said)) as server:
        done = await bench("verify", file, "--model", "m", "--base-url", server.url, code=3)
    assert "red" in done.out
    assert "\x1b" not in done.out + done.err


async def test_results_of_another_run_are_replaced_with_a_word(bench: Run, file: Path, tmp_path: Path) -> None:
    async with serve() as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url)
        first = (await bench(*arguments)).err
        assert "replaced" not in first
        run_id = first.partition("bench show ")[2].split()[0]
        before = (tmp_path / "results.jsonl").read_bytes()
        said = (await bench(*arguments)).err
    again = f"bench export {run_id} --format results"
    assert f"replaced results.jsonl of run {run_id}; `{again}` writes it again" in said
    await bench(*again.split()[1:], "--output", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == before


async def test_on_a_full_disk_the_answers_there_are_stay_and_it_goes_on_from_there(bench: Run, tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 300)
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))\n"
        "from trialbed.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    async with serve(faults='{"answers": {"first_token": 0.03}}') as server:
        arguments = ["verify", str(file), "--model", "m", "--base-url", server.url, "--api-key", KEY]
        full = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-B", "-c", program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (full.returncode, "Traceback" in full.stderr) == (2, False), full.stderr
        assert "the same command continues from there" in full.stderr
        assert "trialbed.db cannot be used" in full.stderr
        kept = stored(tmp_path)
        assert 0 < kept < 300
        sent = server.met.total()
        document = (await bench(*arguments, "--json")).document
        assert (document["success_count"], document["case_count"]) == (300, 300)
        assert server.met.total() == sent + 300 - kept


async def test_the_bad_lines_and_schemas_of_a_test_set_are_told_beforehand(bench: Run, tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "int"}}}
    lines: list[Any] = [{"messages": [], "tools": [tool]}, "oops", {"messages": [{"role": "user", "content": "x"}]}]
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    async with serve() as server:
        done = await bench("verify", file, "--model", "m", "--base-url", server.url, "--json")
    assert "set.jsonl, line 2: not JSON" in done.err
    assert "set.jsonl, line 1: the schema of f cannot be used" in done.err
    assert done.document["case_count"] == 2
    assert done.document["provenance"]["bad_lines"][0]["line"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--temperature", "nan"), "'--temperature': nan is not a finite number"),
        (("--timeout", "inf"), "'--timeout': inf is not a finite number"),
        (("--extra-body", '{"top_p": NaN}'), "--extra-body: must be a JSON object"),
        (("--extra-body", '{"top_p": 1e999}'), "--extra-body: must be a JSON object"),
        (("--extra-body", "{oops"), "must be a JSON object"),
        (("--extra-body", "[1]"), "must be a JSON object"),
        (("--use-raw-completions",), "needs --tokenizer-model"),
        (("--incremental", "--fresh"), "choose one"),
        (("--config", "set.jsonl"), "leave out --model and --base-url"),
        (("--output-dir", "elsewhere"), "--output-dir is for --config; with --base-url, results go to --output"),
    ],
)
async def test_options_that_make_no_sense_are_refused(
    arguments: tuple[str, ...], message: str, bench: Run, file: Path
) -> None:
    done = await bench("verify", file, "--model", "m", "--base-url", nobody(), *arguments, code=2)
    assert message in done.err
