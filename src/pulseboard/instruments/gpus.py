"""GPUs: their peak rates, from the manufacturers' data sheets."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """Peak rates in TFLOP/s of tensor cores, without sparsity, accumulating in float32. None: no such cores."""

    name: str
    pattern: str  # matches the name that the driver reports
    tf32: float | None
    bf16: float | None
    fp16: float | None
    fp8: float | None
    source: str

    def peak(self, dtype: str) -> float | None:
        """TFLOP/s for 'tf32', 'bf16', 'fp16' or 'fp8'."""
        if dtype not in ("tf32", "bf16", "fp16", "fp8"):
            raise ValueError(f"No peak rate for {dtype!r}. Choose tf32, bf16, fp16 or fp8.")
        rate: float | None = getattr(self, dtype)
        return rate


# Rates that a sheet prints only with sparsity are halved. The first matching pattern counts. NVIDIA's own sheets were
# not available when these were checked, only pages that copy them:
#   H100 SXM, H200, B200   glennklockwood.com/garden/processors (h100, B200): every number. B200 at 1000 W, as in
#                          HGX; in a GB200 at 1200 W it reaches 2500 in bfloat16. It lists H200 as "the same as H100"
#   L40S                   mullet.se/product.html?product_id=355414: every number
#   H100 PCIe, L4, A100, A10, V100, T4   github.com/winston-zhang-orz/gpu-specs, specs.md: every number; for the
#                          H100 PCIe, and the L4 in 8 bits (485), with sparsity
#   RTX 4090               hmc-tech.com/gpus/nvidia-geforce-rtx-4090-vs-nvidia-rtx-pro-5000-blackwell: every number
#   RTX 5090               spheron.network/blog/nvidia-rtx-5090-specs: 838.4 in 16 bits and 1,676.8 in 8, with sparsity
#                          and sums in float16; ours are a quarter of each. TF32 is half of bfloat16, not checked
#   RTX 3090               35.6 in float32, and 142 in 16 bits with sums in float16; ours is half of that. TF32 was
#                          not checked
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
    """The GPU with this name, as in the table or as the driver reports it ('NVIDIA H100 80GB HBM3'), or None."""
    exact = next((gpu for gpu in GPUS if gpu.name.lower() == name.lower()), None)
    return exact or next((gpu for gpu in GPUS if re.search(gpu.pattern, name, re.IGNORECASE)), None)
