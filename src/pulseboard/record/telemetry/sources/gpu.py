"""NVIDIA GPUs through NVML: one record per GPU and sample, and at the start one about each GPU's model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.core.metric import Metric
from pulseboard.record.messages import warn_once
from pulseboard.record.optional_import import load
from pulseboard.record.telemetry.source import Sample, Source, Unavailable, source
from pulseboard.record.telemetry.sources.torch_memory import loaded_torch, torch_with_cuda

# Units in event files. Records of the JSON log have bytes and bytes/s where this has MiB and MiB/s
# (rundir/json_log_metrics.py).
METRICS = {
    "gpu/{id}/clock": Metric("MHz", "clock of the streaming multiprocessors"),
    "gpu/{id}/max_clock": Metric("MHz", "highest clock of the card"),
    "gpu/{id}/power": Metric("mW", "power drawn by the board"),
    "gpu/{id}/power_limit": Metric("mW", "configured power limit"),
    "gpu/{id}/temperature": Metric("°C", "temperature of the chip"),
    "gpu/{id}/temp_slowdown": Metric("°C", "temperature at which the card slows itself down"),
    "gpu/{id}/gpu_util": Metric("%", "share of time in which a kernel ran, however well it used the chip"),
    "gpu/{id}/mem_util": Metric("%", "share of time in which memory was read or written"),
    "gpu/{id}/dram_free": Metric("MiB", "free memory"),
    "gpu/{id}/pcie_rx": Metric("MiB/s", "received over PCIe, during the 20 ms of the measurement"),
    "gpu/{id}/pcie_tx": Metric("MiB/s", "sent over PCIe, during the 20 ms of the measurement"),
    "gpu/{id}/fan": Metric("%", "speed of the fan relative to its maximum; 0 if the card has none"),
}

# Why a clock is below its maximum, by NVML's bits. An idle GPU (bit 0) is not throttled.
_THROTTLES = {
    0x002: "clocks set by the user",
    0x004: "software power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "hardware power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}

# Cores per streaming multiprocessor by compute capability (CUDA programming guide, "Compute
# capabilities"). NVML only counts cores.
_CORES_PER_SM = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}
_CORES_PER_SM |= {(6, 1): 128, (6, 2): 128, (8, 6): 128, (8, 7): 128, (8, 9): 128}
_CORES_PER_SM |= {(9, 0): 128, (10, 0): 128, (10, 3): 128, (12, 0): 128, (12, 1): 128}

# After one of these errors a field will not be available later either.
_UNSUPPORTED = ("NotSupported", "FunctionNotFound", "NoPermission", "InvalidArgument", "ArgumentVersionMismatch")
# After one of these a GPU is lost until the machine or the driver is restarted.
_LOST = ("GpuIsLost", "ResetRequired", "GpuNotFound")
# After one of these NVML as a whole is unusable.
_UNUSABLE = ("Uninitialized", "DriverNotLoaded", "LibraryNotFound", "LibRmVersionMismatch")

Query = Callable[[Any, Any], Any]  # (NVML, a GPU's handle) -> value


def _pcie_bytes_per_sec(nvml: Any, gpu: Any, counter: int) -> int:
    # NVML's KB are 1000 bytes (nvml.h writes KiB when it means 1024).
    return int(nvml.nvmlDeviceGetPcieThroughput(gpu, counter)) * 1000


def _fan(nvml: Any, gpu: Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetFanSpeed(gpu))
    except nvml.NVMLError_NotSupported:
        return 0


def _temperature(nvml: Any, gpu: Any) -> int:
    # The first function exists before CUDA 14, the second from CUDA 12.8 on.
    names = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
    return int(_first_of(names, nvml, gpu, nvml.NVML_TEMPERATURE_GPU))


def _throttle(nvml: Any, gpu: Any) -> str:
    # Renamed in driver 535. Both return the same bits.
    names = ("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons")
    bits = int(_first_of(names, nvml, gpu))
    return ", ".join(words for bit, words in _THROTTLES.items() if bits & bit)


def _first_of(names: tuple[str, str], nvml: Any, *args: Any) -> Any:
    """The result of the first function, or of the second if the library or the driver lacks the first."""
    try:
        return getattr(nvml, names[0])(*args)
    except (AttributeError, nvml.NVMLError_FunctionNotFound):
        return getattr(nvml, names[1])(*args)


# In the order of the JSON log's record.
_STATE: dict[str, Query] = {
    "clock": lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
    "max_clock": lambda nvml, gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM),
    "fan": _fan,
    "power": lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu),
    "power_limit": lambda nvml, gpu: nvml.nvmlDeviceGetPowerManagementLimit(gpu),
    "temperature": _temperature,
    "temp_slowdown": lambda nvml, gpu: nvml.nvmlDeviceGetTemperatureThreshold(
        gpu, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    ),
    "gpu_util": lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
    "mem_util": lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).memory,
    "throttle": _throttle,
    "dram_free": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).free,
    "pcie_rx": lambda nvml, gpu: _pcie_bytes_per_sec(nvml, gpu, nvml.NVML_PCIE_UTIL_RX_BYTES),
    "pcie_tx": lambda nvml, gpu: _pcie_bytes_per_sec(nvml, gpu, nvml.NVML_PCIE_UTIL_TX_BYTES),
}

_MODEL: dict[str, Query] = {
    "name": lambda nvml, gpu: _text(nvml.nvmlDeviceGetName(gpu)),
    "sm_count": lambda nvml, gpu: _sm_count(nvml, gpu),
    "major": lambda nvml, gpu: nvml.nvmlDeviceGetCudaComputeCapability(gpu)[0],
    "minor": lambda nvml, gpu: nvml.nvmlDeviceGetCudaComputeCapability(gpu)[1],
    "memory": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total,
    "free": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).free,
    "uuid": lambda nvml, gpu: _text(nvml.nvmlDeviceGetUUID(gpu)),
    "ecc": lambda nvml, gpu: bool(nvml.nvmlDeviceGetEccMode(gpu)[0]),
    "cuda_driver": lambda nvml, gpu: nvml.nvmlSystemGetCudaDriverVersion_v2(),
}


@dataclass(slots=True)
class Gpu:
    """One GPU that this process may use."""

    id: int  # NVML's index, as shown by nvidia-smi
    handle: Any
    unsupported: set[str] = field(default_factory=set)  # fields that it does not have


@source(id="gpu", metrics=METRICS)
class Gpus(Source):
    """The GPUs that CUDA_VISIBLE_DEVICES gives to this process, or all if it is not set.

    GPUs have NVML's numbers, not CUDA's: nvidia-smi shows the same, and ranks that see one GPU each do not all call
    it 0. Fields that a card does not support are left out of its records.

    A sample takes about 40 ms per GPU, nearly all of it two waits of 20 ms in which NVML counts PCIe traffic with the
    GIL released. That is from NVML's documentation; we had no GPU to measure. Our own part takes 12 us per GPU.
    """

    def __init__(self, run_directory: str) -> None:
        self._nvml = load("pynvml", what="GPU telemetry", package="nvidia-ml-py", extra="gpu")
        try:
            self._nvml.nvmlInit()
            self._gpus = list(visible_gpus(self._nvml))
        except self._nvml.NVMLError as error:
            raise Unavailable(f"NVML finds no GPU here ({error})") from error
        if not self._gpus:
            raise Unavailable("this process may not use any GPU")
        self._models_logged = False

    def sample(self, now_secs: float) -> Sample:
        """One record per GPU; the first time, also one about each GPU's model."""
        models = [] if self._models_logged else [self._model(gpu) for gpu in self._gpus]
        self._models_logged = True
        states = [self._state(gpu) for gpu in list(self._gpus)]
        return Sample(records=[*models, *(state for state in states if state is not None)])

    def close(self) -> None:
        """Shut NVML down."""
        self._nvml.nvmlShutdown()

    def _state(self, gpu: Gpu) -> dict[str, Any] | None:
        try:
            values = self._query(gpu, _STATE)
        except self._nvml.NVMLError as error:
            self._gpus.remove(gpu)
            warn_once(f"gpu {gpu.id} gone", f"GPU {gpu.id} is lost: {error}. Its telemetry ends here.")
            return None
        return {"log": "gpu", "id": gpu.id, **values} if values else None

    def _model(self, gpu: Gpu) -> dict[str, Any]:
        try:
            values = self._query(gpu, _MODEL)
        except self._nvml.NVMLError:
            values = {}  # it is lost; querying its state reports that
        return {"log": "gpu-model", "id": gpu.id, **values, **_from_torch(values.get("uuid", ""))}

    def _query(self, gpu: Gpu, fields: Mapping[str, Query]) -> dict[str, Any]:
        """The fields that the GPU supports. Raises NVMLError only if the GPU is lost."""
        values = {}
        for name, query in fields.items():
            if name in gpu.unsupported:
                continue
            try:
                values[name] = query(self._nvml, gpu.handle)
            except self._nvml.NVMLError as error:
                kind = type(error).__name__.removeprefix("NVMLError_")  # by name: older releases lack some classes
                if kind in _UNUSABLE:
                    raise Unavailable(f"NVML no longer responds ({error})") from error
                if kind in _LOST:
                    raise
                if kind in _UNSUPPORTED:
                    gpu.unsupported.add(name)
                else:
                    warn_once(
                        f"gpu {gpu.id}", f"GPU {gpu.id}: {name} could not be read: {error}. It will be tried again."
                    )
        return {name: value for name, value in values.items() if value is not None}


def gpu_states() -> list[dict[str, Any]]:
    """The state of every visible GPU now, with the fields of a `gpu` record; empty if NVML is not available."""
    try:
        gpus = Gpus("")
    except (Unavailable, MissingPackage):
        return []
    try:
        return [
            {k: v for k, v in record.items() if k != "log"}
            for record in gpus.sample(0.0).records
            if record["log"] == "gpu"
        ]
    finally:
        gpus.close()


def visible_gpus(nvml: Any, environment: Mapping[str, str] = os.environ) -> Iterator[Gpu]:
    """The GPUs of CUDA_VISIBLE_DEVICES: by number, by a prefix of the UUID, or by a MIG slice.

    As in CUDA, the first invalid entry ends the list.
    """
    gpus = [Gpu(index, nvml.nvmlDeviceGetHandleByIndex(index)) for index in range(nvml.nvmlDeviceGetCount())]
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        yield from gpus
        return
    seen: set[int] = set()
    for name in visible.split(","):
        index = _index_of(name.strip(), gpus, nvml)
        if index is None:
            return
        if index not in seen:
            seen.add(index)
            yield gpus[index]


def _index_of(name: str, gpus: list[Gpu], nvml: Any) -> int | None:
    if name.isdigit():
        return int(name) if int(name) < len(gpus) else None
    if name.startswith("MIG-"):
        slice_ = nvml.nvmlDeviceGetHandleByUUID(name)
        return int(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slice_)))
    matches = [g.id for g in gpus if name and _text(nvml.nvmlDeviceGetUUID(g.handle)).startswith(name)]
    return matches[0] if len(matches) == 1 else None


def _sm_count(nvml: Any, gpu: Any) -> int | None:
    cores_per_sm = _CORES_PER_SM.get(tuple(nvml.nvmlDeviceGetCudaComputeCapability(gpu)))
    return int(nvml.nvmlDeviceGetNumGpuCores(gpu)) // cores_per_sm if cores_per_sm else None


def _from_torch(uuid: str) -> dict[str, Any]:
    """Fields that NVML lacks and torch has, if the training has imported it."""
    fields: dict[str, Any] = {}
    if version := getattr(getattr(loaded_torch(), "version", None), "cuda", None):
        major, minor = (int(part) for part in version.split(".")[:2])
        fields["cuda_runtime"] = major * 1000 + minor * 10
    if (torch := torch_with_cuda()) is not None:
        for index in range(torch.cuda.device_count()):
            gpu = torch.cuda.get_device_properties(index)
            if uuid.removeprefix("GPU-") == str(getattr(gpu, "uuid", "?")):
                fields |= {"sm_count": gpu.multi_processor_count, "l2_size": gpu.L2_cache_size}
    return fields


def _text(value: str | bytes) -> str:
    # Bytes before release 11.515 of the library.
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
