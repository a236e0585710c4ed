"""The numbers of a record of the JSON log, under the tags that TensorBoard, W&B and Aim show them by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pulseboard.core.json_numbers import decode_number
from pulseboard.rundir.json_log import FIELDS, MIB

Style = Literal["wandb", "aim", "tensorboard"]

_TRAIN = ("loss", "norm", "lr", "epoch", "step_tokens", "duration_ms")
_EVAL = ("loss", "epoch", "eval_tokens", "duration_ms")
_IN_MIB = ("dram_free", "pcie_rx", "pcie_tx")


def metrics_of(record: Mapping[str, Any], *, style: Style) -> dict[str, float]:
    """The numbers of a record by tag; empty for kinds without numbers.

    step       train/loss train/norm train/lr train/epoch train/step_tokens train/duration_ms
               train/tokens_per_second
    eval       eval/loss eval/epoch eval/eval_tokens eval/duration_ms eval/tokens_per_second
    moe        moe/aux_loss moe/z_loss moe/expert_utilization moe/load_imbalance
    gpu        gpu/0/power and so on; in wandb's style gpu/power for GPU 0, gpu/1/power for the next.
               dram_free is in MiB, pcie_rx and pcie_tx in MiB/s; throttle is text and left out
    allocator  allocator/weights_mib and so on, device memory in MiB; in wandb's style the slices of
               a pie chart, segment name to MiB
    sol        sol/tps and so on
    scalars    as they were logged
    """
    kind = record.get("log")
    if kind == "step":
        return _progress(record, area="train", fields=_TRAIN, tokens="step_tokens")
    if kind == "eval":
        return _progress(record, area="eval", fields=_EVAL, tokens="eval_tokens")
    if kind == "moe":
        return _numbers(record, fields=FIELDS["moe"], prefix="moe/")
    if kind == "sol":
        return _numbers(record, fields=FIELDS["sol"], prefix="sol/")
    if kind == "gpu":
        id = record.get("id") or 0
        prefix = "gpu/" if style == "wandb" and id == 0 else f"gpu/{id}/"
        numbers = _numbers(record, fields=[name for name in FIELDS["gpu"] if name != "id"], prefix=prefix)
        return {name: value / MIB if name.endswith(_IN_MIB) else value for name, value in numbers.items()}
    if kind == "allocator":
        name = "{}" if style == "wandb" else "allocator/{}_mib"
        stats = record.get("stats", ())
        return {name.format(item["name"]): (decode_number(item["device"]) or 0.0) / MIB for item in stats}
    if kind == "scalars":
        values = record.get("values", {})
        return _numbers(values, fields=values, prefix="")
    return {}


def _progress(record: Mapping[str, Any], *, area: str, fields: Iterable[str], tokens: str) -> dict[str, float]:
    numbers = _numbers(record, fields=fields, prefix=f"{area}/")
    rate = tokens_per_second(record, tokens=tokens)
    return numbers if rate is None else {**numbers, f"{area}/tokens_per_second": rate}


def tokens_per_second(record: Mapping[str, Any], *, tokens: str) -> float | None:
    """The throughput of a step or an evaluation; None if its duration is not known."""
    count, duration_ms = decode_number(record.get(tokens)), decode_number(record.get("duration_ms"))
    if count is None or duration_ms is None or not duration_ms > 0:
        return None
    return count / duration_ms * 1000


def _numbers(record: Mapping[str, Any], *, fields: Iterable[str], prefix: str) -> dict[str, float]:
    numbers = ((name, decode_number(record.get(name))) for name in fields)
    return {prefix + name: value for name, value in numbers if value is not None}
