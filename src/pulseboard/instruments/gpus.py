"""GPUs: what each could do at best, by the makers' own sheets."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """Peak rates in TFLOP/s: tensor cores, no sparsity, sums in float32. None: it has no such cores."""

    name: str
    pattern: str  # finds it in the name that the driver gives
    tf32: float | None
    bf16: float | None
    fp16: float | None
    fp8: float | None
    source: str

    def peak(self, dtype: str) -> float | None:
        """TFLOP/s for 'tf32', 'bf16', 'fp16' or 'fp8'."""
        if dtype not in ("tf32", "bf16", "fp16", "fp8"):
            raise ValueError(f"There is no peak rate for {dtype!r}. Known: tf32, bf16, fp16, fp8.")
        rate: float | None = getattr(self, dtype)
        return rate


# Sheets that print rates with sparsity only are halved. The first pattern that is found counts.
GPUS = (
    Gpu("B200", r"\bB200\b", 1100, 2250, 2250, 4500, "NVIDIA HGX B200 data sheet, an eighth of the board"),
    Gpu("H200", r"\bH200\b(?! NVL)", 494.7, 989.4, 989.4, 1978.9, "NVIDIA H200 data sheet, SXM"),
    Gpu("H100 PCIe", r"\bH100 PCIe\b", 378, 756, 756, 1513, "NVIDIA H100 data sheet, PCIe"),
    Gpu("H100 SXM", r"\bH100\b(?! NVL)", 494.7, 989.4, 989.4, 1978.9, "NVIDIA H100 data sheet, SXM"),
    Gpu("A100", r"\bA100\b", 156, 312, 312, None, "NVIDIA A100 data sheet"),
    Gpu("A10", r"\bA10\b", 62.5, 125, 125, None, "NVIDIA A10 data sheet"),
    Gpu("L40S", r"\bL40S\b", 183, 362.05, 362.05, 733, "NVIDIA L40S data sheet"),
    Gpu("L4", r"\bL4\b", 60, 121, 121, 242.5, "NVIDIA L4 data sheet"),
    Gpu("V100 PCIe", r"\bV100-PCIE\b", None, None, 112, None, "NVIDIA V100 data sheet, PCIe"),
    Gpu("V100", r"\bV100\b", None, None, 125, None, "NVIDIA V100 data sheet, SXM2"),
    Gpu("T4", r"\bT4\b", None, None, 65, None, "NVIDIA T4 data sheet"),
    Gpu("RTX 5090", r"\bRTX 5090\b(?! D\b| Laptop)", 104.8, 209.5, 209.5, 419, "Blackwell RTX architecture paper"),
    Gpu("RTX 4090", r"\bRTX 4090\b(?! D\b| Laptop)", 82.6, 165.2, 165.2, 330.3, "Ada architecture paper"),
    Gpu("RTX 3090", r"\bRTX 3090\b(?! Ti)", 35.6, 71, 71, None, "Ampere GA102 architecture paper"),
)  # fmt: skip


def known_gpu(name: str) -> Gpu | None:
    """The GPU of this name, ours or the driver's ('NVIDIA H100 80GB HBM3'). None if it is not in the table."""
    exact = next((gpu for gpu in GPUS if gpu.name.lower() == name.lower()), None)
    return exact or next((gpu for gpu in GPUS if re.search(gpu.pattern, name, re.IGNORECASE)), None)
