"""A fake of the module `pynvml` of nvidia-ml-py, with any number of GPUs.

telemetry/test_gpu.py compares its names with the real module if that is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any


class NVMLError(Exception):
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801
    pass


class NVMLError_FunctionNotFound(NVMLError):  # noqa: N801
    pass


class NVMLError_LibraryNotFound(NVMLError):  # noqa: N801
    pass


class NVMLError_Uninitialized(NVMLError):  # noqa: N801
    pass


class NVMLError_GpuIsLost(NVMLError):  # noqa: N801
    pass


class NVMLError_Unknown(NVMLError):  # noqa: N801
    pass


def gpu(number: int = 0, **answers: Any) -> dict[str, Any]:
    """What an H100 answers. An answer may be an NVMLError, which is raised instead."""
    return {
        "uuid": f"GPU-{number}1111111-2222-3333-4444-555555555555",
        "name": "NVIDIA H100 80GB HBM3",
        "capability": (9, 0),
        "cores": 16896,
        "clock": 1755,
        "max_clock": 1980,
        "fan": NVMLError_NotSupported("Not Supported"),
        "power": 412_000,
        "power_limit": 700_000,
        "temperature": 61,
        "temp_slowdown": 90,
        "util": SimpleNamespace(gpu=97, memory=44),
        "throttle": 0,
        "memory": SimpleNamespace(total=80 << 30, free=8 << 30),
        "rx": 2_000_000,
        "tx": 1_000_000,
        "ecc": (1, 1),
    } | answers


class FakeNvml(ModuleType):
    """Handles are the numbers of the GPUs. `mig` maps the UUID of a slice to its GPU's number."""

    def __init__(
        self, *gpus: dict[str, Any], fails: NVMLError | None = None, mig: dict[str, int] | None = None
    ) -> None:
        super().__init__("pynvml")
        self.gpus = list(gpus)
        self.fails = fails
        self.asked: list[tuple[int, str]] = []
        self.open = False
        mig = mig or {}
        for cls in (NVMLError, *NVMLError.__subclasses__()):
            setattr(self, cls.__name__, cls)
        constants = {
            "NVML_CLOCK_SM": 1,
            "NVML_TEMPERATURE_GPU": 0,
            "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN": 1,
            "NVML_PCIE_UTIL_TX_BYTES": 0,
            "NVML_PCIE_UTIL_RX_BYTES": 1,
        }
        calls: dict[str, Callable[..., Any]] = {
            "nvmlDeviceGetCount": lambda: len(self.gpus),
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetHandleByUUID": lambda uuid: 1000 + mig[uuid],
            "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda handle: handle - 1000,
            "nvmlDeviceGetIndex": lambda handle: handle,
            "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
            "nvmlDeviceGetName": lambda handle: self.answer(handle, "name"),
            "nvmlDeviceGetUUID": lambda handle: self.answer(handle, "uuid"),
            "nvmlDeviceGetCudaComputeCapability": lambda handle: self.answer(handle, "capability"),
            "nvmlDeviceGetNumGpuCores": lambda handle: self.answer(handle, "cores"),
            "nvmlDeviceGetClockInfo": lambda handle, type: self.answer(handle, "clock"),
            "nvmlDeviceGetMaxClockInfo": lambda handle, type: self.answer(handle, "max_clock"),
            "nvmlDeviceGetFanSpeed": lambda handle: self.answer(handle, "fan"),
            "nvmlDeviceGetPowerUsage": lambda handle: self.answer(handle, "power"),
            "nvmlDeviceGetPowerManagementLimit": lambda handle: self.answer(handle, "power_limit"),
            "nvmlDeviceGetTemperature": lambda handle, sensor: self.answer(handle, "temperature"),
            "nvmlDeviceGetTemperatureV": lambda handle, sensor: self.answer(handle, "temperature"),
            "nvmlDeviceGetTemperatureThreshold": lambda handle, threshold: self.answer(handle, "temp_slowdown"),
            "nvmlDeviceGetUtilizationRates": lambda handle: self.answer(handle, "util"),
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: self.answer(handle, "throttle"),
            "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: self.answer(handle, "throttle"),
            "nvmlDeviceGetMemoryInfo": lambda handle: self.answer(handle, "memory"),
            "nvmlDeviceGetPcieThroughput": lambda handle, counter: self.answer(handle, ("tx", "rx")[counter]),
            "nvmlDeviceGetEccMode": lambda handle: self.answer(handle, "ecc"),
        }
        self.names = [*constants, *calls, "nvmlInit", "nvmlShutdown"]
        for name, value in {**constants, **calls}.items():
            setattr(self, name, value)

    def nvmlInit(self) -> None:  # noqa: N802
        if self.fails:
            raise self.fails
        self.open = True

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open = False

    def answer(self, handle: int, what: str) -> Any:
        self.asked.append((handle, what))
        found = self.gpus[handle][what]
        if isinstance(found, NVMLError):
            raise found
        return found
