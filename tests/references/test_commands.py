"""Every command line of the written guides, with `pulseboard` for `tensorboard` and our trainers' names."""

import json
import re
import runpy
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from servers import start_server
from trained import ROOT

import pulseboard as pb

REFERENCES = ROOT.parent / "shared" / "reference"

# Started for real, once per combination of flags; ports are replaced by a free one.
SERVED = [
    "--logdir=runs",
    "--logdir=runs --bind_all",
    "--logdir=runs --host=0.0.0.0",
    "--logdir=runs/2026-02-10_012/logs/tensorboard",
    "--logdir=runs/2026-02-10*",
    "--logdir=runs --max_reload_threads=1",
    "--logdir=results/logs/tensorboard",
    "--logdir=results/logs/tensorboard --reload_multifile=true",
    "--logdir=results/logs/tensorboard --samples_per_plugin scalars=100",
]
# Run in this process, with small sizes.
TRAINED = [
    "train.py",
    "train.py --learning-rate 0.01 --run-tag lr-001",
    "train.py --learning-rate 0.02 --run-tag lr-002",
    "train.py --learning-rate 0.05 --run-tag lr-005",
    "train.py --run-tag baseline-lr002",
    "train.py --run-tag deep-8layer",
    "train.py --run-tag high-dropout",
    "train_improved.py --use_tensorboard",
    'train_improved.py --use_tensorboard --run_name "gpt2_lr1e-3_bs32"',
    "train_improved.py --use_tensorboard --tensorboard_dir /path/to/tensorboard/logs",
    'train_improved.py --use_tensorboard --run_name "run1_lr1e-3"',
    'train_improved.py --use_tensorboard --run_name "run2_lr5e-4"',
    'train_improved.py --resume latest --use_tensorboard --run_name "gpt2_resumed"',
]
# Run in a shell, in a directory with runs of these names.
IN_A_SHELL = [
    "ls -la runs/",
    "ls -la runs/2026-02-10_012/logs/tensorboard/",
    "ls -la runs/2026-02-10_012/logs/tensorboard/*.tfevents.*",
    "ls -la runs/*/logs/tensorboard/",
    "cat configs/tensorboard.json",
    "rm -rf runs/.tensorboard-*",
    "rm -rf runs/old_run_name",
    "mkdir runs_archive",
    "mv runs/2026-01-* runs_archive/",
    "tar -czf runs_archive_2026-01.tar.gz runs/2026-01-*",
    "rm -rf runs/2026-01-*",
]
# What this test cannot run, and why.
LISTED = {
    "torchrun": "several processes: tests/trainers/test_gpt.py runs the same loop with two ranks",
    "ssh": "needs another machine",
    "nohup": "a server in the background, like those started here",
    "ps": "lists processes of the whole machine",
    "netstat": "lists ports of the whole machine",
    "lsof": "lists files of the whole machine",
    "kill": "needs the number of a process; tests/serve/test_command.py stops servers by signal",
    "pkill": "would end every process with that name",
    "tmux": "needs a terminal",
    "pip": "needs a network",
    "Ctrl+C": "a key; tests/serve/test_command.py sends the signal",
    "rm -rf /tmp/.tensorboard-info/": "TensorBoard's own directory, which Pulseboard does not use",
}
_COMMAND = re.compile(
    r"(python|torchrun|tensorboard|ssh|ps|netstat|lsof|kill|pkill|rm|mkdir|mv|tar|ls|cat|nohup|tmux|pip) |Ctrl\\+C$"
)
SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4 --max_steps 4 --eval_iters 1 --device cpu"
SMALL += " --quiet --sample_length 0 --telemetry_secs 0 --checkpoint_freq 2"


def documented_commands():
    """The command lines in the code blocks of the guides, normalized."""
    found = set()
    for file in sorted(REFERENCES.glob("00?_*.txt")):
        for language, block in re.findall(r"```(\w*)\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL):
            if language in ("", "bash"):
                lines = (" ".join(line.split()) for line in block.replace("\\\n", " ").splitlines())
                found |= {line.removesuffix("&").strip() for line in lines if _COMMAND.match(line)}
    return sorted(found)


def _without_port(flags):
    return " ".join(flag for flag in re.sub(r"--port[= ]\d+", "", flags).split())


def test_every_documented_command_is_run_or_listed_with_a_reason():
    if not REFERENCES.is_dir():
        pytest.skip(f"the written guides are not next to the project: {REFERENCES}")
    commands = documented_commands()
    assert len(commands) > 40
    missing = []
    for command in commands:
        words = command.split()
        if words[0] == "tensorboard":
            ok = _without_port(command.removeprefix("tensorboard")) in SERVED
        elif words[0] == "python":
            ok = re.sub(r"^python (src/)?", "", command) in TRAINED
        else:
            ok = command in IN_A_SHELL or command in LISTED or words[0] in LISTED
        if not ok:
            missing.append(command)
    assert missing == []


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A directory with runs as the guides name them."""
    directory = tmp_path_factory.mktemp("project")
    for name in ("2026-02-10_012", "2026-02-10_013", "2026-01-05_001", "old_run_name"):
        with pb.init(dir=directory / "runs", run_id=name, telemetry_secs=0) as run:
            run.log({"train/loss": 1.0}, step=0)
    (directory / "configs").mkdir()
    (directory / "configs" / "tensorboard.json").write_text((ROOT / "configs" / "tensorboard.json").read_text())
    return directory


@pytest.mark.parametrize("flags", SERVED)
def test_the_dashboard_starts_with_the_documented_flags(flags, project, tmp_path):
    server = start_server(*shlex.split(flags), "--port", "0", home=tmp_path, cwd=project)
    try:
        server.wait_until_loaded()
        names = {run["name"] for run in server.api("runs").json["runs"]}
    finally:
        server.stop()
    if "results" in flags:  # 001's own config writes elsewhere; the server waits for the directory
        assert names == set()
    elif flags.endswith("*"):
        assert {Path(name).name for name in names} == {"2026-02-10_012", "2026-02-10_013"}
    elif flags.endswith("/logs/tensorboard"):
        assert names == {"."}
    else:
        assert names >= {"2026-02-10_012", "old_run_name"}


def test_the_port_and_the_log_directory_come_from_the_project_file(project, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = project / "configs" / "tensorboard.json"
    before = file.read_text()
    file.write_text(json.dumps({"runs_dir": "runs", "port": port}))
    try:
        server = start_server("--reload_interval", "1", home=tmp_path, cwd=project)
        server.stop()
    finally:
        file.write_text(before)
    assert server.port == port


def test_the_documented_file_commands_work(project):
    for command in IN_A_SHELL:
        if command == "rm -rf runs/2026-01-*":
            continue  # after `mv` there is none left; `rm -f` would hide a mistake
        if command.startswith("tar"):
            command = command.replace("runs/2026-01-*", "runs_archive/2026-01-*")
        subprocess.run(command, shell=True, check=True, cwd=project, stdout=subprocess.DEVNULL)
    left = {path.name for path in (project / "runs").iterdir() if not path.name.startswith(".")}
    assert left == {"2026-02-10_012", "2026-02-10_013"}
    assert list(pb.read(project / "runs_archive"))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return tmp_path_factory.mktemp("trained")


@pytest.mark.parametrize("command", TRAINED)
def test_the_documented_trainings_run(command, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    name, *flags = shlex.split(command.replace("/path/to/tensorboard/logs", "elsewhere/logs"))
    script = ROOT / "trainers" / name
    argv = [str(script), *SMALL.split(), "--text", str(ROOT / "LICENSE"), *flags]
    before = set(pb.read(workplace)) if any(workplace.iterdir()) else set()
    with patch.object(sys, "argv", argv), patch.object(sys, "path", [str(script.parent), str(ROOT), *sys.path]):
        runpy.run_path(str(script), run_name="__main__")
    assert len(set(pb.read(workplace)) - before) == 1
