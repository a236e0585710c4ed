"""Records as lines of text with fixed column widths.

:: step     100 [ 12.5%] \\ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | sol 78.2 | eta 02h15m
>> eval                      loss 2.1234 | gap +0.0123 | 145.2k tps |   234 ms
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pulseboard.core.json_numbers import decode_number
from pulseboard.rundir.json_log import MIB, SEGMENT_FIELDS
from pulseboard.rundir.json_log_metrics import tokens_per_second

MAX_SCALARS = 8
"""In the line of a 'scalars' record, in addition to loss and norm, unless the console is verbose."""

_MAX_FILES = 1000


def step_line(
    record: Mapping[str, Any],
    *,
    percent: float | None = None,
    trend: str = " ",
    spike: bool = False,
    sol: float | None = None,
    eta_secs: float | None = None,
) -> str:
    """A step record as one line."""
    done = f"[{percent:5.1f}%]" if percent is not None else " " * 8
    fields = [
        f":: step {_whole(record.get('step'), width=7)} {done} {trend} loss {_fixed(record.get('loss'), width=6)}",
        f"norm {'!' if spike else ' '}{_fixed(record.get('norm'), width=6)}",
        _throughput(record, tokens="step_tokens"),
        f"{_whole(record.get('duration_ms'), width=5)} ms",
    ]
    if "moe_aux_loss" in record:
        fields.append(f"aux {_fixed(record['moe_aux_loss'])}")
        fields.append(f"imbal {_fixed(record['moe_load_imbalance'], digits=2)}")
    if sol is not None:
        fields.append(f"sol {sol:4.1f}")
    if eta_secs is not None:
        fields.append(f"eta {clock_text(eta_secs)}")
    return " | ".join(fields)


def eval_line(record: Mapping[str, Any], *, gap: float | None = None) -> str:
    """An evaluation record as one line."""
    fields = [
        f">> eval                      loss {_fixed(record.get('loss'), width=6)}",
        f"gap {_fixed(gap, width=7, sign='+')}",
        _throughput(record, tokens="eval_tokens"),
        f"{_whole(record.get('duration_ms'), width=5)} ms",
    ]
    return " | ".join(fields)


def sol_lines(record: Mapping[str, Any], *, dtypes: tuple[str, str, str] = ("bf16", "bf16", "bf16")) -> list[str]:
    """A speed-of-light estimate as a block of lines; `dtypes` are those of blocks, LM head and attention."""
    lines = ["[Speed of Light]"]
    for name, field in (("TF32", "tf32_peak"), ("BF16", "bf16_peak"), ("FP16", "fp16_peak"), (" FP8", "fp8_peak")):
        peak = decode_number(record.get(field))
        if peak and any(_is_dtype(dtype, name.strip().lower()) for dtype in dtypes):
            lines.append(f"  Peak {name}: {peak:8.1f} TFLOP/s")
    for title, field, dtype in zip(
        ("Blocks:", "LM-Head:", "Attention:"), ("blocks", "lm_head", "attention"), dtypes, strict=True
    ):
        lines.append(f"  {title:10} {_flop(record.get(field))}FLOP   in {dtype}")
    tps = decode_number(record.get("tps"))
    lines.append(f"  SOL:       {tps:9.0f} tok/s" if tps and tps > 0 else "  SOL:       unavailable")
    return lines


def gpu_line(record: Mapping[str, Any]) -> str:
    """A GPU's state as one line, in watts, degrees Celsius, MHz, percent and MiB."""
    fields = [
        f":: gpu  {_whole(record.get('id'), width=7)}",
        f"power {_of(record, 'power', 'power_limit', scale=1000)} W",
        f"temp {_of(record, 'temperature', 'temp_slowdown')} C",
        f"clock {_of(record, 'clock', 'max_clock')} MHz",
        f"util {_whole(record.get('gpu_util'))}%",
        f"mem {_whole(record.get('mem_util'))}%",
        f"free {_whole(record.get('dram_free'), scale=MIB)} MiB",
        f"pcie {_of(record, 'pcie_rx', 'pcie_tx', scale=MIB)} MiB/s",
        f"fan {_whole(record.get('fan'))}%",
    ]
    if record.get("throttle"):
        fields.append(f"throttle {record['throttle']}")
    return " | ".join(fields)


def gpu_model_lines(record: Mapping[str, Any], *, verbose: bool = False) -> list[str]:
    """A GPU's model as one line, or two if `verbose`."""
    lines = [
        f"[GPU {_whole(record.get('id'))}] {record.get('name') or 'unknown'} | {_whole(record.get('sm_count'))} SMs | "
        f"compute {_whole(record.get('major'))}.{_whole(record.get('minor'))} | "
        f"{_whole(record.get('free'), scale=MIB)} of {_whole(record.get('memory'), scale=MIB)} MiB free"
    ]
    if verbose:
        ecc = {True: "on", False: "off"}.get(record.get("ecc"), "-")  # type: ignore[arg-type]
        lines.append(
            f"  CUDA driver {_whole(record.get('cuda_driver'))}, runtime {_whole(record.get('cuda_runtime'))} | "
            f"L2 {_whole(record.get('l2_size'), scale=MIB)} MiB | ECC {ecc} | {record.get('uuid') or '-'}"
        )
    return lines


def dataset_lines(
    record: Mapping[str, Any], *, verbose: bool = False, files: Iterable[tuple[str, int | None]] = ()
) -> list[str]:
    """A split of the data as one line; if `verbose`, also the position in it and its files with their tokens."""
    count = decode_number(record.get("files"))
    noun = "file" if count == 1 else "files"
    lines = [f"[Dataset] {record.get('split')}: {short_count(record.get('tokens'))} tokens in {_whole(count)} {noun}"]
    if not verbose:
        return lines
    lines.append(
        f"  at file {_whole(record.get('file_index'))}, chunk {_whole(record.get('chunk_index'))}; "
        f"seed {_whole(record.get('seed'))}"
    )
    shown = list(files)
    for name, tokens in shown[:_MAX_FILES]:
        lines.append(f"  {name}: {short_count(tokens)} tokens" if tokens is not None else f"  {name}")
    if len(shown) > _MAX_FILES:
        lines.append(f"  and {len(shown) - _MAX_FILES} more files")
    return lines


def allocator_lines(record: Mapping[str, Any]) -> list[str]:
    """Memory by segment as a table in MiB."""
    stats = record.get("stats", ())
    width = max([len(str(item["name"])) for item in stats] + [7])
    lines = ["[Memory in MiB]", f"  {'':{width}}" + "".join(f" {field:>9}" for field in SEGMENT_FIELDS)]
    for item in stats:
        cells = "".join(f" {_whole(item.get(field), width=9, scale=MIB)}" for field in SEGMENT_FIELDS)
        lines.append(f"  {item['name']:{width}}{cells}")
    return lines


def scalars_line(
    record: Mapping[str, Any],
    *,
    percent: float | None = None,
    trend: str = " ",
    spike: bool = False,
    eta_secs: float | None = None,
    max_values: int | None = None,
) -> str:
    """A 'scalars' record as one line: the training loss first, then the gradient norm, then the others."""
    values = record.get("values", {})
    loss, norm = loss_name(values), norm_name(values)
    first = f":: step {_whole(record.get('step'), width=7)}"
    if percent is not None:
        first += f" [{percent:5.1f}%]"
    fields = [first] if loss is None else [f"{first} {trend} {loss} {_fixed(values[loss], width=6)}"]
    if norm is not None:
        fields.append(f"{norm} {'!' if spike else ' '}{_fixed(values[norm], width=6)}")
    others = [f"{name} {_general(value)}" for name, value in values.items() if name not in (loss, norm)]
    fields += others[:max_values]
    if max_values is not None and len(others) > max_values:
        fields.append(f"and {len(others) - max_values} more")
    if eta_secs is not None:
        fields.append(f"eta {clock_text(eta_secs)}")
    return " | ".join(fields)


_LOSS_NAMES = ("train/loss", "loss", "Loss/train", "train_loss", "loss/train")
_NORM_NAMES = ("train/norm", "norm", "grad_norm", "train/grad_norm", "gradient_norm", "train/gradient_norm")


def loss_name(values: Mapping[str, Any]) -> str | None:
    """The tag of the training loss, if there is one."""
    return next((name for name in _LOSS_NAMES if name in values), None)


def norm_name(values: Mapping[str, Any]) -> str | None:
    """The tag of the gradient norm, if there is one."""
    return next((name for name in _NORM_NAMES if name in values), None)


# ---------- numbers


def _fixed(value: Any, *, width: int = 0, digits: int = 4, sign: str = "") -> str:
    number = decode_number(value)
    return f"{'-':>{width}}" if number is None else f"{number:{sign}{width}.{digits}f}"


def _whole(value: Any, *, width: int = 0, scale: int = 1) -> str:
    number = decode_number(value)
    if number is None:
        return f"{'-':>{width}}"
    if isinstance(value, int) and scale == 1:
        return f"{value:{width}d}"
    return f"{number / scale:{width}.0f}"


def _general(value: Any) -> str:
    number = decode_number(value)
    if number is None:
        return str(value)
    if number == 0 or 0.001 <= abs(number) < 1000:
        return f"{number:.4f}"
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.4g}"


def _of(record: Mapping[str, Any], field: str, limit: str, *, scale: int = 1) -> str:
    return f"{_whole(record.get(field), scale=scale)}/{_whole(record.get(limit), scale=scale)}"


def _throughput(record: Mapping[str, Any], *, tokens: str) -> str:
    rate = tokens_per_second(record, tokens=tokens)
    return "     - tps" if rate is None else f"{rate / 1000:5.1f}k tps"


def _flop(value: Any) -> str:
    number = decode_number(value)
    if number is None:
        return f"{'-':>8}  "
    return f"{number / 1e9:8.1f} G" if number > 2e9 else f"{number / 1e6:8.1f} M"


def _is_dtype(dtype: str, family: str) -> bool:
    name = dtype.lower()
    return name.startswith(family) or (family == "tf32" and name == "fp32")


def short_count(value: Any) -> str:
    """A number of tokens in about three digits: 950, 12.3k, 4.5M, 1.2B, 3.0T."""
    number = decode_number(value)
    if number is None or not math.isfinite(number):
        return "-"
    for unit in ("", "k", "M", "B"):
        if abs(number) < 1000:
            return f"{number:.0f}" if not unit else f"{number:.1f}{unit}"
        number /= 1000
    return f"{number:.1f}T"


def clock_text(secs: float) -> str:
    """A duration in hours and minutes: 02h15m."""
    minutes = int(secs // 60)
    return f"{minutes // 60:02d}h{minutes % 60:02d}m"
