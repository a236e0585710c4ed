"""Trainings in several processes, with the environment that torchrun gives them.

torchrun loads torch once for itself and once for each process, which takes longer than the trainings. This loads it
once and forks. Tests of what torchrun does use torchrun.
"""

import importlib
import os
import runpy
import signal
import subprocess
import sys


def run_ranks(script, *arguments, processes, port=0, optimizes=True, timeout=600):
    """Run a script that uses torch in several processes, and return its exit code and what it printed.

    With `optimizes`, what every optimizer loads with its first parameter is loaded before forking.
    """
    loaded = "torch._dynamo,torch.distributed.fsdp" if optimizes else "torch.distributed"
    command = [sys.executable, __file__, str(processes), str(port), loaded, str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def torchrun(script, *arguments, processes, timeout=600):
    """The same with torchrun, which takes several times as long."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    command += [str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def launch(count, port, loaded, script, arguments):
    """Fork the ranks. In a rank, run the script; otherwise return 1 if a rank failed, after ending the others."""
    for name in loaded.split(","):
        importlib.import_module(name)
    import torch.distributed

    pids, pipes = [], []
    for rank in range(count):
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            os.close(writing)
            return run_rank(rank, count, os.read(reading, 16).decode(), script, arguments)
        pids.append(pid)
        pipes.append(writing)
    # After forking: it has a thread.
    store = torch.distributed.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    for pipe in pipes:
        os.write(pipe, str(store.port).encode())
    while pids:
        pid, status = os.wait()
        pids.remove(pid)
        if status:
            for other in pids:
                os.kill(other, signal.SIGTERM)
            return 1
    return 0


def run_rank(rank, count, port, script, arguments):
    """The part of one rank: what torchrun sets, then the script."""
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(launch(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:]))
