"""Telemetry: the sampler, and its sources on machines that the tests bring along."""

from __future__ import annotations

import importlib.util
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from record.fake_nvml import (
    FakeNvml,
    NVMLError_FunctionNotFound,
    NVMLError_GpuIsLost,
    NVMLError_LibraryNotFound,
    NVMLError_NotSupported,
    NVMLError_Uninitialized,
    NVMLError_Unknown,
    gpu,
)
from record.fake_trackers import absent

from pulseboard.core.errors import MissingPackage
from pulseboard.files import json_log
from pulseboard.record.telemetry import Metric, Sample, Source, Telemetry, all_metrics
from pulseboard.record.telemetry.counters import open_counters
from pulseboard.record.telemetry.proc import ProcCounters
from pulseboard.record.telemetry.psutil_counters import PsutilCounters
from pulseboard.record.telemetry.rates import Rates
from pulseboard.record.telemetry.source import Unavailable, all_sources
from pulseboard.record.telemetry.sources.gpu import METRICS as GPU_METRICS
from pulseboard.record.telemetry.sources.gpu import Gpus
from pulseboard.record.telemetry.sources.host import METRICS as HOST_METRICS
from pulseboard.record.telemetry.sources.host import Host
from pulseboard.record.telemetry.sources.torch_memory import METRICS as TORCH_METRICS
from pulseboard.record.telemetry.sources.torch_memory import TorchMemory

GIB = 1 << 30
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_secs = 1000.0

    def __call__(self) -> float:
        return self.now_secs


def tape(id: str, *samples: Sample | Exception) -> type[Source]:
    """A source that gives these samples, one after the other, and then raises."""

    class Tape(Source):
        def __init__(self, run_directory: str) -> None:
            self.rest = list(samples)

        def sample(self, now_secs: float) -> Sample:
            found = self.rest.pop(0) if self.rest else RuntimeError("the tape is over")
            if isinstance(found, Exception):
                raise found
            return found

    Tape.id = id
    return Tape


# ---------- the sampler


def test_the_first_tick_samples_and_the_next_waits_for_the_interval():
    clock, logged = Clock(), []
    telemetry = Telemetry(
        logged.append, clock=clock, interval_secs=10, sources=[tape("a", *(Sample({"a": n}) for n in range(9)))]
    )
    telemetry.tick()
    clock.now_secs += 9.9
    telemetry.tick()
    assert logged == [{"a": 0}]
    clock.now_secs += 0.1
    telemetry.tick()
    assert logged == [{"a": 0}, {"a": 1}]


def test_all_sources_are_logged_in_one_call():
    logged = []
    Telemetry(logged.append, sources=[tape("a", Sample({"a": 1})), tape("b", Sample({"b": 2}))]).sample()
    assert logged == [{"a": 1, "b": 2}]


def test_nothing_is_logged_where_nothing_was_seen():
    logged = []
    Telemetry(logged.append, sources=[tape("a", Sample())]).sample()
    assert logged == []


def test_a_source_that_fails_is_dropped_with_one_message_and_the_others_go_on(capsys):
    logged = []
    good, bad = tape("good", *(Sample({"a": n}) for n in range(3))), tape("bad", Sample({"b": 0}), OSError("broken"))
    telemetry = Telemetry(logged.append, sources=[bad, good])
    for _ in range(3):
        telemetry.sample()
    assert logged == [{"b": 0, "a": 0}, {"a": 1}, {"a": 2}]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No bad telemetry from here on: OSError: broken. Training" in said


def test_a_source_that_cannot_be_opened_is_said_once(capsys):
    class Closed(Source):
        id = "closed"

        def __init__(self, run_directory: str) -> None:
            raise Unavailable("there is none here")

    logged = []
    telemetry = Telemetry(logged.append, sources=[Closed, tape("a", Sample({"a": 1}), Sample({"a": 2}))])
    telemetry.sample()
    telemetry.sample()
    assert logged == [{"a": 1}, {"a": 2}]
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_is_opened_before_the_first_sample():
    opened = []

    class Opening(Source):
        def __init__(self, run_directory: str) -> None:
            opened.append(run_directory)

        def sample(self, now_secs: float) -> Sample:
            return Sample()

    telemetry = Telemetry(print, run_directory="/runs/1", sources=[Opening])
    assert opened == []
    telemetry.sample()
    assert opened == ["/runs/1"]


def test_records_go_to_their_taker_or_become_scalars():
    state = {"log": "gpu", "id": 2, "power": 350000, "dram_free": 8 << 30, "throttle": ""}
    logged, recorded = [], []
    Telemetry(logged.append, recorded.append, sources=[tape("a", Sample(records=[state]))]).sample()
    assert (logged, recorded) == ([], [state])
    Telemetry(logged.append, sources=[tape("a", Sample(records=[state]))]).sample()
    assert logged == [{"gpu/2/power": 350000, "gpu/2/dram_free": 8192}]


def test_every_source_is_found_and_says_what_its_tags_are():
    assert [cls.id for cls in all_sources()] == ["gpu", "host", "torch_memory"]
    metrics = all_metrics()
    assert metrics["memory/ram_main_process_gb"].unit == "GiB"
    assert set(metrics) == {*GPU_METRICS, *HOST_METRICS, *TORCH_METRICS}
    assert all(isinstance(metric, Metric) and metric.unit and metric.meaning for metric in metrics.values())


def test_this_machine_can_be_sampled(tmp_path, capsys):
    logged = []
    telemetry = Telemetry(logged.append, run_directory=str(tmp_path))
    telemetry.sample()
    time.sleep(0.05)  # processor time is counted in hundredths of a second
    telemetry.sample()
    telemetry.close()
    assert {tag for tag in HOST_METRICS if tag not in logged[0]} <= {
        "system/cpu", "system/disk_read", "system/disk_write", "system/network_received", "system/network_sent",
    }  # fmt: skip
    assert HOST_METRICS.keys() <= logged[1].keys()
    assert capsys.readouterr().err.count("\n") <= 1  # of the GPU, where there is none


# ---------- rates


def test_a_rate_is_the_rise_over_the_time():
    rates = Rates()
    assert rates.per_sec({"a": 100}, 10.0) == {}
    assert rates.per_sec({"a": 300}, 14.0) == {"a": 50.0}


def test_a_counter_that_was_set_back_has_no_rate_once():
    rates = Rates()
    rates.per_sec({"a": 100}, 10.0)
    assert rates.per_sec({"a": 20}, 11.0) == {}
    assert rates.per_sec({"a": 30}, 12.0) == {"a": 10.0}


# ---------- the host


def machine(root: Path, *, busy: int = 0, idle: int = 0) -> ProcCounters:
    """A machine of two disks, a network card and a job with two workers, as files below `root`."""
    pid = str(os.getpid())
    files = {
        "proc/stat": f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nHugePages_Total: 0\n",
        "proc/self/statm": "900 50 3 1 0 9 0\n",
        f"proc/{pid}/task/{pid}/children": "7 8 ",
        f"proc/{pid}/task/9/children": "",
        "proc/7/task/7/children": "10 ",
        "proc/7/statm": "900 10 3 1 0 9 0\n",
        "proc/8/statm": "900 20 3 1 0 9 0\n",
        "proc/10/statm": "900 5 3 1 0 9 0\n",
        "proc/diskstats": "".join(
            f" 8 0 {name} 1 1 {read} 1 1 1 {written} 1 0 1 1\n"
            for name, read, written in (("sda", 8, 4), ("sda1", 8, 4), ("nvme0n1", 2, 1), ("dm-0", 8, 4))
        ),
        "sys/block/sda/device": "",
        "sys/block/nvme0n1/device": "",
        "sys/block/dm-0/size": "",
        "proc/net/dev": "Inter-| Receive\n face |bytes\n"
        + "".join(f" {name}: {got} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0\n" for name, got, sent in _CARDS),
        "sys/class/net/eth0/device": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ProcCounters(root)


_CARDS = (("lo", 900, 900), ("eth0", 70, 30), ("docker0", 5, 5))


@on_linux
def test_proc_counts_the_processors(tmp_path):
    ticks = os.sysconf("SC_CLK_TCK")
    assert machine(tmp_path, busy=3 * ticks, idle=5 * ticks).cpu_secs() == (3.0, 8.0)


@on_linux
def test_proc_counts_memory_that_could_be_given_back_as_free(tmp_path):
    assert machine(tmp_path).ram_bytes() == (1000 << 10, 600 << 10)


@on_linux
def test_proc_counts_the_process_and_all_that_it_started(tmp_path):
    page = os.sysconf("SC_PAGE_SIZE")
    counters = machine(tmp_path)
    assert counters.process_bytes() == 50 * page
    assert counters.children_bytes() == (10 + 20 + 5) * page


@on_linux
def test_a_kernel_that_does_not_tell_children_leaves_out_their_tag(tmp_path, monkeypatch):
    machine(tmp_path)
    (tmp_path / f"proc/{os.getpid()}/task/{os.getpid()}/children").unlink()
    monkeypatch.setattr("pulseboard.record.telemetry.sources.host.open_counters", lambda: ProcCounters(tmp_path))
    assert "system/children_ram" not in Host(str(tmp_path)).sample(0.0).scalars


@on_linux
def test_proc_counts_a_disk_once_though_it_has_partitions_and_volumes(tmp_path):
    assert machine(tmp_path).disk_bytes() == (10 * 512, 5 * 512)


@on_linux
def test_proc_counts_cards_and_in_a_container_all_but_the_loopback(tmp_path):
    counters = machine(tmp_path)
    assert counters.network_bytes() == (70, 30)
    (tmp_path / "sys/class/net/eth0/device").unlink()
    assert counters.network_bytes() == (75, 35)


@on_linux
def test_a_child_of_this_process_is_counted():
    counters = ProcCounters()
    before = counters.children_bytes()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            until = time.monotonic() + 10
            while counters.children_bytes() <= before and time.monotonic() < until:
                time.sleep(0.01)
            assert counters.children_bytes() > before
        finally:
            child.kill()


@on_linux
@pytest.mark.skipif(not importlib.util.find_spec("psutil"), reason="psutil is not installed: nothing to compare with")
def test_proc_and_psutil_agree():
    ours, theirs = ProcCounters(), PsutilCounters()
    assert ours.ram_bytes()[0] == theirs.ram_bytes()[0]
    assert ours.ram_bytes()[1] == pytest.approx(theirs.ram_bytes()[1], rel=0.1)
    assert ours.process_bytes() == pytest.approx(theirs.process_bytes(), rel=0.05)
    assert ours.cpu_secs() == pytest.approx(theirs.cpu_secs(), rel=0.05)
    assert ours.disk_bytes() == pytest.approx(theirs.disk_bytes(), rel=0.05)
    assert ours.network_bytes() == pytest.approx(theirs.network_bytes(), rel=0.05)
    assert theirs.children_bytes() >= 0


def test_without_proc_and_psutil_the_extra_is_named(monkeypatch):
    with absent(monkeypatch, "psutil"), pytest.raises(MissingPackage, match=r"pulseboard\[telemetry\]"):
        open_counters("darwin")


@on_linux
def test_the_host_gives_rates_from_the_second_sample_on(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "pulseboard.record.telemetry.sources.host.open_counters", lambda: machine(tmp_path, busy=100, idle=300)
    )
    host = Host(str(tmp_path))
    first = host.sample(100.0).scalars
    assert first["memory/ram_main_process_gb"] == 50 * os.sysconf("SC_PAGE_SIZE") / GIB
    assert first["system/ram_total"] == 1000 << 10
    assert not {"system/cpu", "system/disk_read"} & first.keys()
    machine(tmp_path, busy=175, idle=325)
    (tmp_path / "proc/diskstats").write_text(" 8 0 sda 1 1 100 1 1 1 4 1 0 1 1\n 8 0 nvme0n1 1 1 2 1 1 1 1 1 0 1 1\n")
    second = host.sample(102.0).scalars
    assert second["system/cpu"] == pytest.approx(75.0)
    assert second["system/disk_read"] == 92 * 512 / 2
    assert second["system/disk_write"] == 0.0
    assert second.keys() == HOST_METRICS.keys()


@on_linux
def test_a_run_directory_that_is_not_there_leaves_out_the_disk_only(tmp_path):
    seen = Host(str(tmp_path / "none")).sample(0.0).scalars
    assert "system/disk_free" not in seen
    assert "system/ram_used" in seen


# ---------- torch's memory


def fake_torch(*counts: dict[str, int], initialized: bool = True, cuda: str | None = "12.4") -> ModuleType:
    """torch with a GPU for each of `counts`."""

    def memory_stats(index: int) -> dict[str, int]:
        assert initialized, "CUDA would have been started"
        short = {"allocated_current", "reserved_current", "allocated_peak"}
        return {n.replace("_", "_bytes.all.", 1) if n in short else n: count for n, count in counts[index].items()}

    def properties(index: int) -> SimpleNamespace:
        assert initialized, "CUDA would have been started"
        uuid = f"{index}1111111-2222-3333-4444-555555555555"
        return SimpleNamespace(uuid=uuid, multi_processor_count=132, L2_cache_size=50 << 20)

    torch = ModuleType("torch")
    torch.version = SimpleNamespace(cuda=cuda)
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: initialized,
        device_count=lambda: len(counts),
        memory_stats=memory_stats,
        get_device_properties=properties,
    )
    return torch


def test_torch_memory_is_of_the_fullest_gpu(monkeypatch):
    counts = {"allocated_current": 2 * GIB, "reserved_current": 3 * GIB, "allocated_peak": 4 * GIB}
    counts |= {"segment.all.current": 7, "inactive_split_bytes.all.current": GIB // 2, "num_alloc_retries": 1}
    empty = dict.fromkeys(counts, 0)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(empty, counts))
    seen = TorchMemory("").sample(0.0).scalars
    assert seen == {
        "memory/vram_allocated_gb": 2.0,
        "memory/vram_reserved_gb": 3.0,
        "memory/vram_peak_gb": 4.0,
        "memory/allocator_segments": 7.0,
        "memory/allocator_unused": 0.5,
        "memory/allocator_retries": 1.0,
    }
    assert seen.keys() == TORCH_METRICS.keys()


def test_the_peak_is_kept_though_the_job_resets_torchs_own(monkeypatch):
    counts = {"allocated_current": GIB, "reserved_current": GIB, "allocated_peak": 4 * GIB}
    monkeypatch.setitem(sys.modules, "torch", fake_torch(counts))
    source = TorchMemory("")
    source.sample(0.0)
    counts["allocated_peak"] = GIB
    assert source.sample(1.0).scalars["memory/vram_peak_gb"] == 4.0


def test_torch_is_never_imported_and_cuda_never_started(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    source = TorchMemory("")
    assert source.sample(0.0) == Sample()
    assert "torch" not in sys.modules
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, initialized=False))
    assert source.sample(1.0) == Sample()


def test_a_torch_that_is_just_being_imported_is_left_alone(monkeypatch):
    torch = fake_torch({})
    torch.__spec__ = SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert TorchMemory("").sample(0.0) == Sample()


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed: tested on a stand-in only")
def test_the_real_torch_without_cuda_gives_nothing():
    import torch

    if torch.cuda.is_initialized():
        pytest.skip("CUDA runs in this process")
    assert TorchMemory("").sample(0.0) == Sample()
    assert not torch.cuda.is_initialized()


# ---------- GPUs


@pytest.fixture
def nvml(monkeypatch):
    """Puts a stand-in in place of the library; nothing is hidden by CUDA_VISIBLE_DEVICES, and torch is away."""

    def put(*gpus, visible=None, **more):
        fake = FakeNvml(*gpus, **more)
        monkeypatch.setitem(sys.modules, "pynvml", fake)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return fake

    return put


def states(source: Gpus) -> list[dict]:
    return [record for record in source.sample(0.0).records if record["log"] == "gpu"]


def test_a_gpu_gives_every_field_of_the_reference(nvml):
    nvml(gpu())
    (state,) = states(Gpus(""))
    assert state == {
        "log": "gpu", "id": 0, "clock": 1755, "max_clock": 1980, "fan": 0, "power": 412_000, "power_limit": 700_000,
        "temperature": 61, "temp_slowdown": 90, "gpu_util": 97, "mem_util": 44, "throttle": "", "dram_free": 8 << 30,
        "pcie_rx": 2_000_000_000, "pcie_tx": 1_000_000_000,
    }  # fmt: skip
    assert list(state)[1:] == list(json_log.FIELDS["gpu"])


def test_every_number_of_a_gpu_is_declared_as_a_metric(nvml):
    nvml(gpu())
    (state,) = states(Gpus(""))
    named = {tag.replace("gpu/0/", "gpu/{id}/") for tag in json_log.metrics_of(state, style="tensorboard")}
    assert named == GPU_METRICS.keys()


def test_a_gpus_model_is_told_once_and_first(nvml):
    nvml(gpu(0), gpu(1))
    source = Gpus("")
    first, second = source.sample(0.0).records, source.sample(1.0).records
    assert [record["log"] for record in first] == ["gpu-model", "gpu-model", "gpu", "gpu"]
    assert [record["log"] for record in second] == ["gpu", "gpu"]
    assert first[1] == {
        "log": "gpu-model", "id": 1, "name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "major": 9, "minor": 0,
        "memory": 80 << 30, "free": 8 << 30, "uuid": "GPU-11111111-2222-3333-4444-555555555555", "ecc": True,
        "cuda_driver": 12080,
    }  # fmt: skip
    assert first[1].keys() - {"log"} <= json_log.FIELDS["gpu-model"].keys()


def test_what_only_torch_knows_of_a_gpu_is_added_where_torch_runs(nvml, monkeypatch):
    nvml(gpu(0), gpu(1))
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, {}))
    model = Gpus("").sample(0.0).records[1]
    assert (model["cuda_runtime"], model["l2_size"]) == (12040, 50 << 20)
    assert model.keys() - {"log"} == json_log.FIELDS["gpu-model"].keys()


def test_a_torch_without_cuda_running_tells_its_version_only(nvml, monkeypatch):
    nvml(gpu())
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, initialized=False))
    model = Gpus("").sample(0.0).records[0]
    assert model["cuda_runtime"] == 12040
    assert "l2_size" not in model


def test_the_multiprocessors_of_an_unknown_chip_are_left_out(nvml):
    nvml(gpu(capability=(99, 0)))
    assert "sm_count" not in Gpus("").sample(0.0).records[0]


def test_names_that_old_releases_give_as_bytes_are_text(nvml):
    nvml(gpu(name=b"Tesla V100", uuid=b"GPU-0"))
    model = Gpus("").sample(0.0).records[0]
    assert (model["name"], model["uuid"]) == ("Tesla V100", "GPU-0")


def test_fields_that_a_card_does_not_support_are_left_out_and_not_asked_again(nvml, capsys):
    no = NVMLError_NotSupported("Not Supported")
    fake = nvml(gpu(power=no, rx=no, tx=no, temp_slowdown=no))
    source = Gpus("")
    (state,) = states(source)
    assert not {"power", "pcie_rx", "pcie_tx", "temp_slowdown"} & state.keys()
    assert state["clock"] == 1755
    fake.asked.clear()
    states(source)
    assert (0, "power") not in fake.asked
    assert (0, "clock") in fake.asked
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x0, ""),
        (0x1, ""),
        (0x4, "software power cap"),
        (0x8 | 0x40, "hardware slowdown, hardware thermal slowdown"),
        (0x20 | 0x80 | 0x1, "software thermal slowdown, hardware power brake"),
    ],
)
def test_throttling_is_told_in_words(nvml, bits, words):
    nvml(gpu(throttle=bits))
    assert states(Gpus(""))[0]["throttle"] == words


def test_a_library_or_driver_with_one_of_two_names_only_will_do(nvml):
    fake = nvml(gpu(throttle=0x4))

    def not_found(*args):
        raise NVMLError_FunctionNotFound("Function Not Found")

    fake.nvmlDeviceGetCurrentClocksThrottleReasons = not_found
    del fake.nvmlDeviceGetTemperature
    (state,) = states(Gpus(""))
    assert (state["throttle"], state["temperature"]) == ("software power cap", 61)


def test_a_gpu_that_is_lost_is_said_once_and_the_others_go_on(nvml, capsys):
    fake = nvml(gpu(0), gpu(1))
    source = Gpus("")
    assert [state["id"] for state in states(source)] == [0, 1]
    fake.gpus[0]["clock"] = NVMLError_GpuIsLost("GPU is lost")
    assert [state["id"] for state in states(source)] == [1]
    assert [state["id"] for state in states(source)] == [1]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "GPU 0 is gone: GPU is lost" in said


def test_a_passing_error_leaves_out_one_field_of_one_sample(nvml, capsys):
    fake = nvml(gpu())
    source = Gpus("")
    fake.gpus[0]["power"] = NVMLError_Unknown("Unknown Error")
    assert "power" not in states(source)[0]
    fake.gpus[0]["power"] = 5
    assert states(source)[0]["power"] == 5
    assert capsys.readouterr().err.count("\n") == 1


def test_a_library_that_stops_answering_drops_the_source(nvml, capsys):
    fake = nvml(gpu(0), gpu(1))
    recorded = []
    telemetry = Telemetry(print, recorded.append, sources=[Gpus])
    telemetry.sample()
    for each in fake.gpus:
        each["clock"] = NVMLError_Uninitialized("Uninitialized")
    telemetry.sample()
    telemetry.sample()
    assert len(recorded) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No gpu telemetry from here on: NVML no longer answers (Uninitialized). Training" in said


def test_without_the_driver_it_is_said_once_and_telemetry_goes_on(nvml, capsys):
    nvml(fails=NVMLError_LibraryNotFound("NVML Shared Library Not Found"))
    logged = []
    telemetry = Telemetry(logged.append, sources=[Gpus, tape("a", Sample({"a": 1}), Sample({"a": 2}))])
    telemetry.sample()
    telemetry.sample()
    assert logged == [{"a": 1}, {"a": 2}]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "NVML Shared Library Not Found" in said


def test_without_the_package_the_extra_is_named(monkeypatch):
    with absent(monkeypatch, "pynvml"), pytest.raises(MissingPackage, match=r"pulseboard\[gpu\]"):
        Gpus("")


@pytest.mark.parametrize(
    ("visible", "ids"),
    [
        (None, [0, 1, 2]),
        ("2,0", [2, 0]),
        ("1, 1", [1]),
        ("0,-1,2", [0]),
        ("7", []),
        ("", []),
        ("GPU-2111", [2]),
        ("GPU-", []),  # would be any of them
        ("MIG-a", [1]),
        ("MIG-a,MIG-b", [1]),
    ],
)
def test_the_gpus_are_those_that_this_process_may_use(nvml, visible, ids):
    nvml(gpu(0), gpu(1), gpu(2), visible=visible, mig={"MIG-a": 1, "MIG-b": 1})
    if ids:
        assert [state["id"] for state in states(Gpus(""))] == ids
    else:
        with pytest.raises(Unavailable, match="no GPU that this process may use"):
            Gpus("")


def test_closing_lets_nvml_go(nvml):
    fake = nvml(gpu())
    telemetry = Telemetry(print, lambda record: None, sources=[Gpus])
    telemetry.sample()
    assert fake.open
    telemetry.close()
    assert not fake.open


# ---------- the real library

real_nvml = pytest.mark.skipif(
    not importlib.util.find_spec("pynvml"), reason="nvidia-ml-py is not installed: tested on a stand-in only"
)


@real_nvml
def test_the_stand_in_has_the_names_of_the_real_library():
    import pynvml

    fake = FakeNvml()
    for name in fake.names:
        ours, theirs = getattr(fake, name), getattr(pynvml, name)
        if callable(ours):
            taken = [p for p in inspect.signature(theirs).parameters.values() if p.default is p.empty]
            assert len(inspect.signature(ours).parameters) == len(taken), name
        else:
            assert ours == theirs, name
    for cls in (NVMLError_NotSupported, NVMLError_LibraryNotFound, NVMLError_GpuIsLost, NVMLError_Uninitialized):
        assert issubclass(getattr(pynvml, cls.__name__), pynvml.NVMLError)


@real_nvml
def test_the_real_library_gives_gpus_or_says_that_there_are_none(monkeypatch):
    import pynvml

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    try:
        pynvml.nvmlInit()
        missing = ""
    except pynvml.NVMLError as error:
        missing = str(error)
    if missing:
        with pytest.raises(Unavailable, match="NVML finds no GPU here") as raised:
            Gpus("")
        assert missing in str(raised.value)
    else:
        source = Gpus("")
        assert all("clock" in state for state in states(source))
        source.close()
