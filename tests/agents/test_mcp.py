"""`pulseboard mcp` through the SDK's own client, over stdio, as an agent uses it; and how short the answers are."""

import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcp import Client, StdioServerParameters

import pulseboard as pb
from pulseboard.agents.answers import Answers
from pulseboard.diagnose.guide import guide, guide_slugs
from pulseboard.diagnose.tape import tape
from pulseboard.record.event_log.series_file import write_series

TOOLS = {"overview", "why", "curve", "compare", "explain", "wait", "guide"}
# What cannot be written as a plain log of scalars.
BEYOND_SCALARS = ("ranks", "histograms", "restarts", "silence_secs", "fires_histograms", "fires_ranks", "profile")


def tokens(text):
    return len(text.encode()) / 4


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """Twenty logs, each with the curves of one finding's page, in a run of that name."""
    root = tmp_path_factory.mktemp("faulty")
    pages = [guide(slug) for slug in guide_slugs()]
    plain = [page for page in pages if not any(name in page.front for name in BEYOND_SCALARS)]
    alarming = [page for page in plain if page.front.get("severity", "warning") != "info"]
    for page in alarming[:: max(1, len(alarming) // 20)][:20]:
        series = [tape(text, tag=tag) for tag, text in page.front["fires"].items()]
        write_series(str(root / page.slug), series=series, config=page.front.get("config"))
    assert len(list(root.iterdir())) == 20
    return root


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    root = tmp_path_factory.mktemp("mcp")
    noise = np.random.default_rng(0)
    for name, rate in (("good", 0.1), ("bad", 10.0)):
        with pb.init(dir=root, run_id=name, config={"lr": rate}, telemetry_secs=0, strict=True) as run:
            for step in range(300):
                loss = 0.5 + 2 * float(np.exp(-step / 100)) + 0.02 * noise.normal()
                run.log({"train/loss": float("nan") if name == "bad" and step > 200 else loss}, step=step)
    return root


def server(*args):
    """How an agent starts the server: as a process."""
    source = str(Path(pb.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source}
    return StdioServerParameters(command=sys.executable, args=["-m", "pulseboard", "mcp", *map(str, args)], env=env)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def text_of(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert result.structured_content is None, "a structured copy would double the answer"
    return result.is_error, content.text


def test_every_tool_answers_over_stdio(log):
    async def ask():
        async with Client(server(log)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
            assert all(tool.output_schema is None for tool in tools)
            return {
                "overview": await text_of(client, "overview"),
                "why": await text_of(client, "why", run="bad"),
                "curve": await text_of(client, "curve", runs=["good", "bad"], tag="train/loss", to_step=99, rows=2),
                "compare": await text_of(client, "compare", a="good", b="bad"),
                "explain": await text_of(client, "explain", slug="loss-nan"),
                "wait": await text_of(client, "wait", until="finding=critical", secs=60),
                "late": await text_of(client, "wait", until="step=400", secs=60, run="good"),
                "guide": await text_of(client, "guide", run="good"),
                "unknown": await text_of(client, "why", run="goood"),
                "wrong": await text_of(client, "wait", until="nonsense"),
            }

    import anyio

    said = anyio.run(ask)
    assert {name for name, (is_error, _) in said.items() if is_error} == {"guide", "unknown", "wrong"}
    text = {name: answer for name, (_, answer) in said.items()}
    assert text["overview"].splitlines() == [
        "bad critical @299: loss-nan" + text["overview"].splitlines()[0].partition("loss-nan")[2],
        "good healthy @299",
    ]
    assert text["why"].startswith("bad: critical, steps 0-299, profile general\ncritical: The loss became NaN")
    assert "next check: " in text["why"]
    assert "fixes: " in text["why"]
    curve = text["curve"].splitlines()
    assert curve[0].startswith("good train/loss: 100 points, min 1.")
    assert [line.split()[0] for line in curve[1:3]] == ["49", "99"]
    assert curve[3].startswith("bad train/loss: 100 points")
    assert text["compare"].splitlines()[0] == "a good: healthy"
    assert text["compare"].splitlines()[-1] == "config: lr: a=0.1 b=10.0"
    assert text["explain"].startswith("loss-nan: The loss became NaN or infinite.")
    assert text["wait"].startswith("met: finding=critical. bad critical loss-nan")
    assert text["late"] == "not met, the run ended: step=400. good finished at step 299"
    assert "No profile" in text["guide"] or "profile" in text["guide"]
    assert "Nearest: 'good'" in text["unknown"]
    assert "Conditions: " in text["wrong"]


def test_the_same_tools_answer_over_http(log):
    import anyio

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = server(log, "--port", port)
    with subprocess.Popen([command.command, *command.args], env=command.env, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 120
        while not _listens(port):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.1)

        async def ask():
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                tools = (await client.list_tools()).tools
                return {tool.name for tool in tools}, await text_of(client, "overview", match="good")

        try:
            assert anyio.run(ask) == (TOOLS, (False, "good healthy @299"))
        finally:
            process.kill()


def test_a_diagnosis_takes_at_most_600_tokens_in_the_median(faulty):
    answers = Answers(pb.read(faulty))
    said = {slug: answers.why(slug) for slug in sorted(path.name for path in faulty.iterdir())}
    right = {slug: text for slug, text in said.items() if slug in text.partition("\n")[2]}
    assert len(right) >= 18, sorted(said.keys() - right.keys())
    assert statistics.median(map(tokens, right.values())) <= 600
    assert max(map(tokens, right.values())) <= 1000


@pytest.mark.parametrize(("name", "fit"), [("lr3e-4", 100), ("a-name-much-longer-than-those-of-most-runs-are", 70)])
def test_an_overview_of_100_faulty_runs_takes_at_most_2000_tokens(faulty, tmp_path, name, fit):
    for i in range(100):
        (tmp_path / f"{name}-{i:03}").symlink_to(sorted(faulty.iterdir())[i % 20])
    text = Answers(pb.read(tmp_path)).overview()
    assert tokens(text) <= 2000
    lines = text.splitlines()
    left_out = int(lines[-1].removeprefix("more: ")) if lines[-1].startswith("more: ") else 0
    assert len(lines) - bool(left_out) + left_out == 100
    assert len(lines) >= fit


def test_an_overview_can_be_narrowed(log):
    answers = Answers(pb.read(log))
    assert answers.overview(match="^good$") == "good healthy @299"
    assert answers.overview(match="nothing") == "no run matches 'nothing'"
    assert answers.overview(rows=1).splitlines()[-1] == "more: 1"


def test_numbers_that_are_not_finite_are_counted(log):
    lines = Answers(pb.read(log)).curve(["bad"], "train/loss", rows=4).splitlines()
    assert lines[-2].endswith("(24 not finite)")
    assert lines[-1] == "299 (75 not finite)"
    assert Answers(pb.read(log)).curve(["bad"], "train/loss", first=9999) == (
        "bad train/loss: no points there; it has steps 0-299"
    )


def test_new_points_are_in_the_next_answer(tmp_path):
    from log_directories import append, write_run

    path = write_run(tmp_path / "a", (0, 1.0))
    answers = Answers(pb.read(tmp_path))
    assert answers.overview().startswith("a not enough data @0")
    append(path, (7, 0.5))
    assert answers.overview().startswith("a not enough data @7")


def test_the_skill_names_only_commands_and_options_that_exist():
    import re

    def output(*args):
        return subprocess.run(
            [sys.executable, "-m", "pulseboard", *args], capture_output=True, text=True, check=True
        ).stdout

    skill = output("skill")
    assert skill.startswith("---\nname: pulseboard\ndescription: ")
    commands = set(re.findall(r"`pulseboard (\w+)", skill))
    assert commands == {"diagnose", "explain", "tail", "show", "compare", "wait"}
    for line in re.findall(r"`pulseboard ([^`]+)`", skill):
        name, *words = line.split()
        usage = output(name, "--help")
        assert [word for word in words if word.startswith("-") and word not in usage] == []
