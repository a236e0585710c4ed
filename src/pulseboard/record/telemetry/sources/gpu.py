"""NVIDIA GPUs through NVML: one record a GPU and sample, and one about its model in the beginning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulseboard.record.optional import load
from pulseboard.record.report import say_once
from pulseboard.record.telemetry.source import Metric, Sample, Source, Unavailable, source
from pulseboard.record.telemetry.sources.torch_memory import loaded_torch, torch_with_cuda

# As they stand in event files. A record of the JSON log has the units of NVML and of its own table:
# bytes and bytes/s where this has MiB and MiB/s (files/json_log.py, `metrics_of`).
METRICS = {
    "gpu/{id}/clock": Metric("MHz", "clock of the streaming multiprocessors"),
    "gpu/{id}/max_clock": Metric("MHz", "the highest clock the card can run at"),
    "gpu/{id}/power": Metric("mW", "power drawn by the board"),
    "gpu/{id}/power_limit": Metric("mW", "the power limit that is configured"),
    "gpu/{id}/temperature": Metric("°C", "temperature of the chip"),
    "gpu/{id}/temp_slowdown": Metric("°C", "the temperature from which the card slows itself down"),
    "gpu/{id}/gpu_util": Metric("%", "share of time in which a kernel ran; says nothing of how well it used the chip"),
    "gpu/{id}/mem_util": Metric("%", "share of time in which memory was read or written"),
    "gpu/{id}/dram_free": Metric("MiB", "memory that nobody has taken"),
    "gpu/{id}/pcie_rx": Metric("MiB/s", "received over PCIe, in the 20 ms in which it was measured"),
    "gpu/{id}/pcie_tx": Metric("MiB/s", "sent over PCIe, in the 20 ms in which it was measured"),
    "gpu/{id}/fan": Metric("%", "speed of the fan, of what it is built for; 0 if the card has none"),
}

# Why a clock is lower than it could be, by the bits NVML sets. An idle GPU (bit 0) is not throttled.
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

# Cores of one streaming multiprocessor by compute capability (CUDA programming guide, "Compute
# capabilities"). NVML counts cores only.
_CORES_PER_SM = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}
_CORES_PER_SM |= {(6, 1): 128, (6, 2): 128, (8, 6): 128, (8, 7): 128, (8, 9): 128}
_CORES_PER_SM |= {(9, 0): 128, (10, 0): 128, (10, 3): 128, (12, 0): 128, (12, 1): 128}

# A field answered with one of these will not be answered later either.
_NEVER = ("NotSupported", "FunctionNotFound", "NoPermission", "InvalidArgument", "ArgumentVersionMismatch")
# A GPU that answers with one of these is gone until the machine or the driver is restarted.
_GONE = ("GpuIsLost", "ResetRequired", "GpuNotFound")
# After one of these there is nothing left to ask.
_OVER = ("Uninitialized", "DriverNotLoaded", "LibraryNotFound", "LibRmVersionMismatch")

Ask = Callable[[Any, Any], Any]  # (NVML, a GPU's handle) -> value


def _pcie_bytes_per_sec(nvml: Any, gpu: Any, counter: int) -> int:
    # NVML's KB are 1000 bytes (nvml.h has KiB where it means 1024).
    return int(nvml.nvmlDeviceGetPcieThroughput(gpu, counter)) * 1000


def _fan(nvml: Any, gpu: Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetFanSpeed(gpu))
    except nvml.NVMLError_NotSupported:
        return 0


def _temperature(nvml: Any, gpu: Any) -> int:
    # The first ends with CUDA 14, the second begins with CUDA 12.8.
    names = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
    return int(_first_of(names, nvml, gpu, nvml.NVML_TEMPERATURE_GPU))


def _throttle(nvml: Any, gpu: Any) -> str:
    # Renamed in driver 535. Both answer with the same bits.
    names = ("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons")
    bits = int(_first_of(names, nvml, gpu))
    return ", ".join(words for bit, words in _THROTTLES.items() if bits & bit)


def _first_of(names: tuple[str, str], nvml: Any, *args: Any) -> Any:
    """The answer of the first call, or of the second where the library or the driver lacks the first."""
    try:
        return getattr(nvml, names[0])(*args)
    except (AttributeError, nvml.NVMLError_FunctionNotFound):
        return getattr(nvml, names[1])(*args)


# In the order of the JSON log's record.
_STATE: dict[str, Ask] = {
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

_MODEL: dict[str, Ask] = {
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

    id: int  # NVML's index, the number that nvidia-smi shows
    handle: Any
    unsupported: set[str] = field(default_factory=set)  # fields that it has refused


@source(id="gpu", metrics=METRICS)
class Gpus(Source):
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, or all where it is not set.

    A GPU goes by NVML's number, not CUDA's: that is what nvidia-smi shows, and ranks that see one GPU
    each do not all call it 0. What a card does not support is left out of its records.

    A sample takes about 40 ms a GPU, nearly all of it two waits of 20 ms in which NVML counts PCIe
    traffic, with the interpreter lock let go: so its documentation says, no GPU was at hand to measure.
    Our own part takes 12 us a GPU.
    """

    def __init__(self, run_directory: str) -> None:
        self._nvml = load("pynvml", what="GPU telemetry", package="nvidia-ml-py", extra="gpu")
        try:
            self._nvml.nvmlInit()
            self._gpus = list(visible_gpus(self._nvml))
        except self._nvml.NVMLError as error:
            raise Unavailable(f"NVML finds no GPU here ({error})") from error
        if not self._gpus:
            raise Unavailable("there is no GPU that this process may use")
        self._introduced = False

    def sample(self, now_secs: float) -> Sample:
        """A record for each GPU; the first time, one about its model before it."""
        models = [] if self._introduced else [self._model(gpu) for gpu in self._gpus]
        self._introduced = True
        states = [self._state(gpu) for gpu in list(self._gpus)]
        return Sample(records=[*models, *(state for state in states if state is not None)])

    def close(self) -> None:
        """Let NVML go."""
        self._nvml.nvmlShutdown()

    def _state(self, gpu: Gpu) -> dict[str, Any] | None:
        try:
            answers = self._ask(gpu, _STATE)
        except self._nvml.NVMLError as error:
            self._gpus.remove(gpu)
            say_once(f"gpu {gpu.id} gone", f"GPU {gpu.id} is gone: {error}. Its telemetry ends here.")
            return None
        return {"log": "gpu", "id": gpu.id, **answers} if answers else None

    def _model(self, gpu: Gpu) -> dict[str, Any]:
        try:
            answers = self._ask(gpu, _MODEL)
        except self._nvml.NVMLError:
            answers = {}  # it is gone; its state will say so
        return {"log": "gpu-model", "id": gpu.id, **answers, **_known_to_torch(answers.get("uuid", ""))}

    def _ask(self, gpu: Gpu, fields: Mapping[str, Ask]) -> dict[str, Any]:
        """The fields that the GPU answers. Raises NVMLError only where the GPU is gone."""
        answers = {}
        for name, ask in fields.items():
            if name in gpu.unsupported:
                continue
            try:
                answers[name] = ask(self._nvml, gpu.handle)
            except self._nvml.NVMLError as error:
                what = type(error).__name__.removeprefix("NVMLError_")  # by name: older releases lack some classes
                if what in _OVER:
                    raise Unavailable(f"NVML no longer answers ({error})") from error
                if what in _GONE:
                    raise
                if what in _NEVER:
                    gpu.unsupported.add(name)
                else:
                    say_once(f"gpu {gpu.id}", f"GPU {gpu.id} did not tell its {name}: {error}. It is asked again.")
        return {name: answer for name, answer in answers.items() if answer is not None}


def visible_gpus(nvml: Any, environment: Mapping[str, str] = os.environ) -> Iterator[Gpu]:
    """The GPUs of CUDA_VISIBLE_DEVICES, by number, by UUID or its beginning, or by one of their MIG slices.

    As in CUDA, the first entry that names no GPU ends the list.
    """
    everything = [Gpu(index, nvml.nvmlDeviceGetHandleByIndex(index)) for index in range(nvml.nvmlDeviceGetCount())]
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        yield from everything
        return
    seen: set[int] = set()
    for name in wanted.split(","):
        index = _index_of(name.strip(), everything, nvml)
        if index is None:
            return
        if index not in seen:
            seen.add(index)
            yield everything[index]


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


def _known_to_torch(uuid: str) -> dict[str, Any]:
    """What NVML cannot tell and torch can, where the job has it running already."""
    known: dict[str, Any] = {}
    if version := getattr(getattr(loaded_torch(), "version", None), "cuda", None):
        major, minor = (int(part) for part in version.split(".")[:2])
        known["cuda_runtime"] = major * 1000 + minor * 10
    if (torch := torch_with_cuda()) is not None:
        every = (torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count()))
        for gpu in every:
            if uuid.removeprefix("GPU-") == str(getattr(gpu, "uuid", "?")):
                known |= {"sm_count": gpu.multi_processor_count, "l2_size": gpu.L2_cache_size}
    return known


def _text(answer: str | bytes) -> str:
    # Bytes before release 11.515 of the library.
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
