"""NVIDIA GPUs, with a fake NVML and with the real one."""

from __future__ import annotations

import importlib.util
import inspect
import sys

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
from record.telemetry.fake_sources import fake_torch, tape

from pulseboard.core.errors import MissingPackage
from pulseboard.record.telemetry import Sample, Telemetry
from pulseboard.record.telemetry.source import Unavailable
from pulseboard.record.telemetry.sources.gpu import METRICS as GPU_METRICS
from pulseboard.record.telemetry.sources.gpu import Gpus, gpu_states
from pulseboard.rundir import json_log
from pulseboard.rundir.json_log_metrics import metrics_of

# ---------- GPUs


@pytest.fixture
def nvml(monkeypatch):
    """A fake of the library, without CUDA_VISIBLE_DEVICES and without torch."""

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


def test_a_gpu_has_every_field_of_the_reference(nvml):
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
    named = {tag.replace("gpu/0/", "gpu/{id}/") for tag in metrics_of(state, style="tensorboard")}
    assert named == GPU_METRICS.keys()


def test_a_gpus_model_is_logged_once_and_first(nvml):
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


def test_fields_that_only_torch_has_are_added_if_torch_is_loaded(nvml, monkeypatch):
    nvml(gpu(0), gpu(1))
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, {}))
    model = Gpus("").sample(0.0).records[1]
    assert (model["cuda_runtime"], model["l2_size"]) == (12040, 50 << 20)
    assert model.keys() - {"log"} == json_log.FIELDS["gpu-model"].keys()


def test_a_torch_without_cuda_adds_only_its_version(nvml, monkeypatch):
    nvml(gpu())
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, initialized=False))
    model = Gpus("").sample(0.0).records[0]
    assert model["cuda_runtime"] == 12040
    assert "l2_size" not in model


def test_the_multiprocessors_of_an_unknown_chip_are_left_out(nvml):
    nvml(gpu(capability=(99, 0)))
    assert "sm_count" not in Gpus("").sample(0.0).records[0]


def test_names_that_old_releases_return_as_bytes_are_text(nvml):
    nvml(gpu(name=b"Tesla V100", uuid=b"GPU-0"))
    model = Gpus("").sample(0.0).records[0]
    assert (model["name"], model["uuid"]) == ("Tesla V100", "GPU-0")


def test_unsupported_fields_are_left_out_and_not_queried_again(nvml, capsys):
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
def test_throttling_is_described_in_words(nvml, bits, words):
    nvml(gpu(throttle=bits))
    assert states(Gpus(""))[0]["throttle"] == words


def test_a_library_or_driver_needs_only_one_of_two_names(nvml):
    fake = nvml(gpu(throttle=0x4))

    def not_found(*args):
        raise NVMLError_FunctionNotFound("Function Not Found")

    fake.nvmlDeviceGetCurrentClocksThrottleReasons = not_found
    del fake.nvmlDeviceGetTemperature
    (state,) = states(Gpus(""))
    assert (state["throttle"], state["temperature"]) == ("software power cap", 61)


def test_a_lost_gpu_is_reported_once_and_the_others_go_on(nvml, capsys):
    fake = nvml(gpu(0), gpu(1))
    source = Gpus("")
    assert [state["id"] for state in states(source)] == [0, 1]
    fake.gpus[0]["clock"] = NVMLError_GpuIsLost("GPU is lost")
    assert [state["id"] for state in states(source)] == [1]
    assert [state["id"] for state in states(source)] == [1]
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "GPU 0 is lost: GPU is lost" in stderr


def test_a_temporary_error_leaves_out_one_field_of_one_sample(nvml, capsys):
    fake = nvml(gpu())
    source = Gpus("")
    fake.gpus[0]["power"] = NVMLError_Unknown("Unknown Error")
    assert "power" not in states(source)[0]
    fake.gpus[0]["power"] = 5
    assert states(source)[0]["power"] == 5
    assert capsys.readouterr().err.count("\n") == 1


def test_a_library_that_stops_responding_drops_the_source(nvml, capsys):
    fake = nvml(gpu(0), gpu(1))
    recorded = []
    telemetry = Telemetry(print, recorded.append, sources=[Gpus])
    telemetry.sample()
    for each in fake.gpus:
        each["clock"] = NVMLError_Uninitialized("Uninitialized")
    telemetry.sample()
    telemetry.sample()
    assert len(recorded) == 4
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "No gpu telemetry from now on: NVML no longer responds (Uninitialized). Training" in stderr


def test_a_missing_driver_is_reported_once_and_telemetry_goes_on(nvml, capsys):
    nvml(fails=NVMLError_LibraryNotFound("NVML Shared Library Not Found"))
    logged = []
    telemetry = Telemetry(logged.append, sources=[Gpus, tape("a", Sample({"a": 1}), Sample({"a": 2}))])
    telemetry.sample()
    telemetry.sample()
    assert logged == [{"a": 1}, {"a": 2}]
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "NVML Shared Library Not Found" in stderr


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
        with pytest.raises(Unavailable, match="this process may not use any GPU"):
            Gpus("")


def test_closing_shuts_nvml_down(nvml):
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
def test_the_fake_has_the_names_of_the_real_library():
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
def test_the_real_library_finds_gpus_or_reports_that_there_are_none(monkeypatch):
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


def test_the_state_of_gpus_can_be_read_once(nvml):
    nvml(gpu(0), gpu(1))
    found = gpu_states()
    assert [state["id"] for state in found] == [0, 1]
    assert len(found[0]) == 14  # the id and 13 fields


def test_without_a_gpu_there_is_no_state(monkeypatch):
    with absent(monkeypatch, "pynvml"):
        assert gpu_states() == []
