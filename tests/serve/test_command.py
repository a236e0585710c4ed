"""`pulseboard LOGDIR`: flags, ports, output and how it stops; `pb.serve` and notebooks."""

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
from pulseboard.serve.http.sockets import CannotListen
from pulseboard.serve.settings import BadSetting


def command(*args, cwd=None, **env):
    import os

    return subprocess.run(
        [sys.executable, "-m", "pulseboard", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
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
def test_the_log_directory_can_be_given_in_all_of_tensorboards_ways(serve, logs, flags):
    server = serve(*(flag.format(logs) for flag in flags))
    names = {run["name"].removeprefix("x/") for run in server.api("runs").json["runs"]}
    assert names == {"plain", "rich"}


def test_several_log_directories_can_have_names(serve, logs):
    server = serve("--logdir_spec", f"one:{logs},two:{logs}")
    assert {run["name"].partition("/")[0] for run in server.api("runs").json["runs"]} == {"one", "two"}


def test_flags_without_effect_are_accepted_with_one_message_each(serve, logs):
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
    output = stderr_of(server)
    for flag in ("reload_multifile", "samples_per_plugin", "max_reload_threads", "load_fast"):
        assert len(re.findall(rf"^--{flag} has no effect: .+\.$", output, re.MULTILINE)) == 1


def test_prefix_and_title_are_used(serve, logs):
    server = serve(logs, "--path_prefix", "/my/board/", "--window_title", "Mine & <yours>")
    assert server.url.endswith("/my/board/")
    assert server.api("status").json["title"] == "Mine & <yours>"
    assert b"<title>Mine &amp; &lt;yours&gt;</title>" in server.request("").body
    top = server.url.removesuffix("my/board/")
    server.url = top
    assert (server.request("").status, server.request("").headers["location"]) == (302, "/my/board/")
    assert server.request("my/board").headers["location"] == "/my/board/"
    assert server.request("api/status").status == 404
    assert server.request("my/boardapi/status").status == 404


def test_the_next_free_port_is_used_if_the_default_is_in_use(logs, tmp_path):
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # another server has it already, which is as good
            held.enter_context(socket.create_server(("127.0.0.1", 6006)))
        server = start_server(logs, home=tmp_path)
        held.callback(server.stop)
        assert server.port > 6006
        assert f"Port 6006 is in use; using {server.port}." in stderr_of(server)


def test_a_given_port_that_is_in_use_is_an_error_with_advice(logs):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        ran = command(logs, "--port", holder.getsockname()[1])
    assert ran.returncode == 2
    assert re.fullmatch(
        r"pulseboard: Port \d+ is in use\. Choose another with --port PORT, or leave --port out\.\n", ran.stderr
    )


@pytest.mark.parametrize("port", ["x", "-1", "70000", "1e3"])
def test_an_invalid_port_is_an_error(logs, port):
    ran = command(logs, f"--port={port}")
    assert ran.returncode == 2
    assert "is not a port" in ran.stderr


def test_on_a_remote_host_the_ssh_command_is_printed(logs, tmp_path):
    env = {"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 2222", "USER": "ada", "LOGNAME": "ada"}
    server = start_server(logs, "--port", "0", home=tmp_path, env=env)
    line = server.process.stdout.readline()
    server.stop()
    assert f"ssh -N -L {server.port}:localhost:{server.port} -p 2222 ada@10.0.0.2" in line


def test_a_summary_is_printed_and_ctrl_c_stops_the_server_quietly(serve, logs):
    server = serve(logs)
    output = stderr_of(server)
    assert re.search(r"2 runs, [\d,]+ points, read in \d+\.\d s\.", output)
    assert "Stopped." in output
    assert "Traceback" not in output


def test_kill_stops_the_server_as_ctrl_c_does(serve, logs):
    server = serve(logs)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(120) == 0
    output = server.process.stderr.read()
    assert "Stopped." in output
    assert "Traceback" not in output


def test_requests_are_served_before_everything_is_read(tmp_path):
    for i in range(300):
        write_run(tmp_path / "logs" / f"run{i}", *((step, 1.0) for step in range(50)))
    server = start_server(tmp_path / "logs", "--port", "0", home=tmp_path)
    try:
        status = server.api("status").json
        assert status["loading"] is None or status["loading"]["done"] <= status["loading"]["total"]
        wait_for(lambda: len(server.api("runs").json["runs"]) == 300)
    finally:
        server.stop()


def test_with_reload_interval_zero_the_runs_are_read_once(serve, tmp_path):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs", "--reload_interval", "0")
    write_run(tmp_path / "logs" / "b")
    time.sleep(1.0)
    assert [run["name"] for run in server.api("runs").json["runs"]] == ["a"]


def test_a_word_that_is_neither_a_command_nor_a_path_is_an_error():
    ran = command("nowhere")
    assert ran.returncode == 2
    assert "nowhere" in ran.stderr


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path):
    ran = command("--logdir", str(tmp_path / "2026-*"))
    assert ran.returncode == 2
    assert "nothing matches this pattern" in ran.stderr


def test_a_log_directory_that_does_not_exist_yet_is_waited_for(serve, tmp_path):
    server = serve(tmp_path / "later")
    assert server.api("runs").json["runs"] == []
    write_run(tmp_path / "later" / "a")
    wait_for(lambda: [run["name"] for run in server.api("runs").json["runs"]] == ["a"])


def test_a_pattern_as_log_directory_stands_for_what_matches_it(serve, tmp_path):
    for name in ("2026-02-10a", "2026-02-10b", "2026-02-11"):
        write_run(tmp_path / name / "run")
    server = serve(f"--logdir={tmp_path}/2026-02-10*")
    assert {run["name"] for run in server.api("runs").json["runs"]} == {"2026-02-10a/run", "2026-02-10b/run"}


def test_without_arguments_help_is_printed_and_starts_with_the_dashboard(tmp_path):
    ran = command(cwd=tmp_path)
    assert ran.returncode == 0
    assert "usage: pulseboard" in ran.stdout
    assert "pulseboard runs/" in ran.stdout


def test_a_directory_with_the_name_of_a_command_can_be_given_as_a_path(serve, tmp_path, monkeypatch):
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

    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=120) as response:
        return response.read()


def test_serve_runs_in_the_background_and_stops_with_its_block(logs, own_home):
    with pb.serve(logs, port=0) as server:
        assert str(server.port) in server.url
        assert b'"version"' in fetch(f"{server.url}api/status")
        assert "<iframe" in server._repr_html_()
        assert repr(server) == f"Pulseboard at {server.url}"
    assert "stopped" in repr(server)
    with pytest.raises(OSError, match="refused"):
        fetch(f"{server.url}api/status")


def test_serve_refuses_invalid_options(logs, tmp_path):
    with pytest.raises(TypeError, match="nonsense"):
        pb.serve(logs, nonsense=1)
    with pytest.raises(BadSetting, match="prefix"):
        pb.serve(logs, prefix="/a?b")
    with pytest.raises(LogNotFound):
        pb.serve()
    with pytest.raises(LogNotFound, match="nowhere"):
        pb.serve(tmp_path / "nowhere")
    with socket.create_server(("127.0.0.1", 0)) as holder, pytest.raises(CannotListen, match="is in use"):
        pb.serve(logs, port=holder.getsockname()[1])


def test_a_notebook_reuses_the_server_of_the_same_line(logs, own_home):
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
