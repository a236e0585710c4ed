"""`pulseboard LOGDIR`: flags, ports, what is printed, and how it ends; `pb.serve` and notebooks."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from log_directories import write_run
from servers import start_server, wait_for

import pulseboard as pb
from pulseboard.core.errors import LogNotFound
from pulseboard.serve.listening import CannotListen
from pulseboard.serve.settings import BadSetting


def command(*args, cwd=None, **env):
    import os

    return subprocess.run(
        [sys.executable, "-m", "pulseboard", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **env},
    )


def stderr_of(server):
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(10) == 0
    return server.process.stderr.read()


@pytest.mark.parametrize(
    "flags", [["{}"], ["--logdir", "{}"], ["--logdir={}"], ["serve", "{}"], ["--logdir_spec", "x:{}"]]
)
def test_the_log_directory_is_named_in_any_of_tensorboards_ways(serve, logs, flags):
    server = serve(*(flag.format(logs) for flag in flags))
    names = {run["name"].removeprefix("x/") for run in server.api("runs").json["runs"]}
    assert names == {"plain", "rich"}


def test_several_log_directories_with_names(serve, logs):
    server = serve("--logdir_spec", f"one:{logs},two:{logs}")
    assert {run["name"].partition("/")[0] for run in server.api("runs").json["runs"]} == {"one", "two"}


def test_flags_without_work_are_taken_with_one_line_each(serve, logs):
    flags = [
        "--reload_multifile",
        "true",
        "--samples_per_plugin",
        "scalars=1",
        "--max_reload_threads=4",
        "--load_fast",
        "false",
    ]
    server = serve(logs, *flags)
    said = stderr_of(server)
    for flag in ("reload_multifile", "samples_per_plugin", "max_reload_threads", "load_fast"):
        assert len(re.findall(rf"^--{flag} is no longer needed: .+\.$", said, re.MULTILINE)) == 1


def test_a_prefix_and_a_title(serve, logs):
    server = serve(logs, "--path_prefix", "/my/board/", "--window_title", "Mine & <yours>")
    assert server.url.endswith("/my/board/")
    assert server.api("status").json["title"] == "Mine & <yours>"
    assert b"<title>Mine &amp; &lt;yours&gt;</title>" in server.ask("").body
    top = server.url.removesuffix("my/board/")
    server.url = top
    assert (server.ask("").status, server.ask("").headers["location"]) == (302, "/my/board/")
    assert server.ask("my/board").headers["location"] == "/my/board/"
    assert server.ask("api/status").status == 404
    assert server.ask("my/boardapi/status").status == 404


def test_the_next_free_port_is_said_when_the_default_is_taken(logs, tmp_path):
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # another server has it already, which is as good
            held.enter_context(socket.create_server(("127.0.0.1", 6006)))
        server = start_server(logs, home=tmp_path)
        held.callback(server.stop)
        assert server.port > 6006
        assert f"Port 6006 is taken; using {server.port}." in stderr_of(server)


def test_a_named_port_that_is_taken_is_an_error_with_advice(logs):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        ran = command(logs, "--port", holder.getsockname()[1])
    assert ran.returncode == 2
    assert re.fullmatch(
        r"pulseboard: Port \d+ is taken\. Name another with --port PORT, or leave it out\.\n", ran.stderr
    )


@pytest.mark.parametrize("port", ["x", "-1", "70000", "1e3"])
def test_a_port_that_is_none_is_an_error(logs, port):
    ran = command(logs, f"--port={port}")
    assert ran.returncode == 2
    assert "is no port" in ran.stderr


def test_on_a_remote_host_the_ssh_line_is_printed(logs, tmp_path):
    env = {"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 2222", "USER": "ada", "LOGNAME": "ada"}
    server = start_server(logs, "--port", "0", home=tmp_path, env=env)
    line = server.process.stdout.readline()
    server.stop()
    assert f"ssh -N -L {server.port}:localhost:{server.port} -p 2222 ada@10.0.0.2" in line


def test_what_was_read_is_said_and_ctrl_c_ends_it_quietly(serve, logs):
    server = serve(logs)
    said = stderr_of(server)
    assert re.search(r"2 runs, [\d,]+ points, read in \d+\.\d s\.", said)
    assert "Stopped." in said
    assert "Traceback" not in said


def test_it_serves_before_everything_is_read(tmp_path):
    for i in range(300):
        write_run(tmp_path / "logs" / f"run{i}", *((step, 1.0) for step in range(50)))
    server = start_server(tmp_path / "logs", "--port", "0", home=tmp_path)
    try:
        status = server.api("status").json
        assert status["loading"] is None or status["loading"]["done"] <= status["loading"]["total"]
        wait_for(lambda: len(server.api("runs").json["runs"]) == 300)
    finally:
        server.stop()


def test_reading_once_is_reading_once(serve, tmp_path):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs", "--reload_interval", "0")
    write_run(tmp_path / "logs" / "b")
    time.sleep(1.0)
    assert [run["name"] for run in server.api("runs").json["runs"]] == ["a"]


@pytest.mark.parametrize("args", [["/nowhere/at/all"], ["--logdir", "/nowhere/at/all"], ["serve", "/nowhere/at/all"]])
def test_a_path_that_is_not_there_is_said(args):
    ran = command(*args)
    assert ran.returncode == 2
    assert "/nowhere/at/all" in ran.stderr


def test_without_arguments_help_is_printed_and_begins_with_the_dashboard(tmp_path):
    ran = command(cwd=tmp_path)
    assert ran.returncode == 0
    assert "usage: pulseboard" in ran.stdout
    assert "pulseboard runs/" in ran.stdout


def test_a_directory_named_like_a_command_is_reached_by_its_path(serve, tmp_path, monkeypatch):
    write_run(tmp_path / "ls" / "a")
    monkeypatch.chdir(tmp_path)
    assert [run["name"] for run in serve("./ls").api("runs").json["runs"]] == ["a"]


# ---- from Python


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fetch(url):
    import urllib.request

    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        return answer.read()


def test_serve_answers_behind_the_program_and_ends_with_its_block(logs, own_home):
    with pb.serve(logs, port=0) as server:
        assert str(server.port) in server.url
        assert b'"version"' in fetch(f"{server.url}api/status")
        assert "<iframe" in server._repr_html_()
        assert repr(server) == f"Pulseboard at {server.url}"
    assert "stopped" in repr(server)
    with pytest.raises(OSError, match="refused"):
        fetch(f"{server.url}api/status")


def test_serve_says_what_is_wrong_with_its_options(logs, tmp_path):
    with pytest.raises(BadSetting, match="nonsense"):
        pb.serve(logs, nonsense=1)
    with pytest.raises(LogNotFound):
        pb.serve()
    with pytest.raises(LogNotFound, match="nowhere"):
        pb.serve(tmp_path / "nowhere")
    with socket.create_server(("127.0.0.1", 0)) as holder, pytest.raises(CannotListen, match="is taken"):
        pb.serve(logs, port=holder.getsockname()[1])


def test_a_notebook_shows_the_dashboard_and_the_same_line_the_same_server(logs, own_home):
    class Shell:
        def __init__(self):
            self.magics = {}

        def register_magic_function(self, function, kind, name):
            self.magics[kind, name] = function

    shell = Shell()
    pb.load_ipython_extension(shell)
    show = shell.magics["line", "pulseboard"]
    first = show(f"--logdir {logs} --port 0")
    try:
        assert show(f"--logdir {logs} --port 0") is first
        assert b'"version"' in fetch(f"{first.url}api/status")
    finally:
        pb.unload_ipython_extension(shell)
    assert "stopped" in repr(first)
