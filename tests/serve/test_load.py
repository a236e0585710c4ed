"""Load: many connections at once cause no errors and no memory growth. `make bench` runs it for a minute."""

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from log_directories import write_run

LOAD = Path(__file__).resolve().parents[2] / "benchmarks" / "serve" / "load.py"


@pytest.fixture(scope="module")
def load():
    spec = importlib.util.spec_from_file_location("load", LOAD)
    module = importlib.util.module_from_spec(spec)
    sys.modules["load"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_sixty_four_connections_cause_no_errors_and_no_memory_growth(serve, tmp_path, load):
    names = [f"run{i:02}" for i in range(20)]
    for name in names:
        write_run(tmp_path / "logs" / name, *((step, 1.0 / (step + 1)) for step in range(2000)), tag="train/loss")
    server = serve(tmp_path / "logs")
    memory = psutil.Process(server.process.pid)

    def send_requests(secs):  # on a thread: the page's tests leave an event loop running on this one
        with ThreadPoolExecutor(1) as other:
            return other.submit(load.send_load, server.port, names, secs=secs, connections=64).result()

    send_requests(2.0)
    before = memory.memory_info().rss
    result = send_requests(4.0)
    assert result.errors == 0
    assert result.responses > 200
    assert memory.memory_info().rss < before * 1.2 + (16 << 20)
