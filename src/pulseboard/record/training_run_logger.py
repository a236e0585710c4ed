"""TrainingRunLogger: the calls of a training loop, as records of the JSON log and lines on the console."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from pulseboard.files import json_log
from pulseboard.files.json_log import MOE_IN_STEP, Record
from pulseboard.record import json_file
from pulseboard.record.console import Console, LogVerbosity
from pulseboard.record.json_file import JsonFile
from pulseboard.record.report import say, say_once
from pulseboard.record.sink import SinkRunner
from pulseboard.record.worker import Worker

_loggers: weakref.WeakSet[TrainingRunLogger] = weakref.WeakSet()


class TrainingRunLogger:
    """Logs a training run. Each call is one record: in the file when it returns, then printed and passed on.

    Any thread may log. After a fork the child goes on with a file of its own. Trouble with the disk, the
    console, a sink or the callback never reaches the training loop; a value that is no number does.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        callback: Callable[[str], object] | None = None,
        verbosity: int = LogVerbosity.DEFAULT,
        *,
        total_steps: int | None = None,
        sinks: Iterable[SinkRunner] = (),
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Append to the JSON array at `path`; without a path, or with /dev/null, to none.

        `callback` gets each record as a line of JSON. `verbosity` is a LogVerbosity or its number. With
        `total_steps` the console's percentage and eta are those of the run. `sinks` get each record too.
        """
        self._callback = callback
        self._console = Console(verbosity=verbosity, total_steps=total_steps)
        self._sinks = tuple(sinks)
        self._strict = strict
        self._clock = clock
        self._moe: Record | None = None
        self._moe_is_new = False  # it came after the last step record
        self._closed = False
        self._prepare()
        path = os.fspath(path) if path is not None else os.devnull
        self._file = json_file.shared(path, strict=strict) if path and path != os.devnull else None
        self._worker = _worker_of(self._file) if self._file is not None else None
        self._finish = weakref.finalize(self, _finish, self._worker, self._file)
        _loggers.add(self)

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._ticking = False

    @property
    def path(self) -> str | None:
        """Where the records go: the path that was given, unless another process is writing there."""
        return self._file.path if self._file is not None else None

    # ---- training

    def log_step(
        self, step: int, epoch: float, step_tokens: int, duration_ms: float, norm: float, loss: float, lr: float
    ) -> None:
        """A training step.

        The record holds MoE fields where log_moe_stats was called for this step, or since the step before.
        """
        values = {
            "epoch": epoch, "step_tokens": step_tokens, "duration_ms": duration_ms,
            "norm": norm, "loss": loss, "lr": lr,
        }  # fmt: skip
        record = self._record("step", values, step=step)
        with self._lock:
            moe = self._moe
            if moe is not None and (self._moe_is_new or moe["step"] == record["step"]):
                for name, source in MOE_IN_STEP.items():
                    record[name] = moe[source]
            self._moe_is_new = False
        self._log(record)

    def log_eval(self, step: int, epoch: float, eval_tokens: int, duration_ms: float, loss: float) -> None:
        """An evaluation."""
        values = {"epoch": epoch, "eval_tokens": eval_tokens, "duration_ms": duration_ms, "loss": loss}
        self._log(self._record("eval", values, step=step))

    def log_moe_stats(
        self,
        step: int,
        aux_loss: float,
        z_loss: float,
        expert_utilization: float,
        load_imbalance: float,
        *,
        valid: bool = True,
    ) -> None:
        """The health of a router. Takes what a trainer's get_moe_stats() gives, and leaves out what is not valid."""
        if not valid:
            return
        values = {
            "aux_loss": aux_loss, "z_loss": z_loss, "expert_utilization": expert_utilization,
            "load_imbalance": load_imbalance,
        }  # fmt: skip
        record = self._record("moe", values, step=step)
        with self._lock:
            self._moe, self._moe_is_new = record, True
        self._log(record)

    # ---- hardware

    def log_gpu_state(self, step: int, id: int, state: Any = None, **fields: Any) -> None:
        """What a GPU is doing: a mapping, an object with attributes, or keywords, named as in the record."""
        self._log(self._record("gpu", _with(state, fields, id=id, kind="gpu"), step=step))

    def log_gpu_model(self, id: int, model: Any = None, *, step: int = 0, **fields: Any) -> None:
        """What a GPU is: a mapping, an object with attributes, or keywords, named as in the record."""
        self._log(self._record("gpu-model", _with(model, fields, id=id, kind="gpu-model"), step=step))

    def log_allocator(self, step: int, stats: Any) -> None:
        """Memory by segment, in bytes: see json_log.segments for what `stats` may be."""
        self._log(json_log.allocator_record(stats, step=_step(step), wall_time=self._clock()))

    def log_sol_estimate(
        self,
        blocks: float,
        lm_head: float,
        attention: float,
        tps: float,
        tf32_peak: float | None = None,
        bf16_peak: float | None = None,
        fp16_peak: float | None = None,
        fp8_peak: float | None = None,
        *,
        step: int = 0,
        dtype: str = "bf16",
        lm_head_dtype: str | None = None,
        attention_dtype: str | None = None,
    ) -> None:
        """What the hardware could do at best: operations, tokens a second, and peaks in TFLOP/s.

        From here on, steps are compared with `tps`. The data types are for the console only.
        """
        values = {
            "blocks": blocks, "lm_head": lm_head, "attention": attention, "tps": tps,
            "tf32_peak": tf32_peak, "bf16_peak": bf16_peak, "fp16_peak": fp16_peak, "fp8_peak": fp8_peak,
        }  # fmt: skip
        record = self._record("sol", values, step=step)
        self._log(record, dtypes=(dtype, lm_head_dtype or dtype, attention_dtype or dtype))

    # ---- data

    def log_dataset(
        self,
        split: str,
        files: int | Sequence[str] | Mapping[str, int],
        tokens: int,
        file_index: int = 0,
        chunk_index: int = 0,
        seed: int = 0,
        *,
        step: int = 0,
    ) -> None:
        """A split of the data. `files` is their number, their names, or their names with the tokens of each."""
        named: list[tuple[str, int | None]] = []
        if isinstance(files, Mapping):
            named = [(str(name), count) for name, count in files.items()]
        elif isinstance(files, Sequence):
            named = [(str(name), None) for name in files]
        values = {
            "split": split, "files": len(named) if isinstance(files, Mapping | Sequence) else files, "tokens": tokens,
            "file_index": file_index, "chunk_index": chunk_index, "seed": seed,
        }  # fmt: skip
        self._log(self._record("dataset", values, step=step), files=named)

    # ---- the logger itself

    def set_total_steps(self, total_steps: int | None) -> None:
        """Say how many steps the run will have, for the console's percentage and eta."""
        self._console.set_total_steps(total_steps)

    def flush(self) -> None:
        """Hand the file to the disk."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End the log. The sinks are not closed: who made them does that."""
        self._closed = True
        self._finish()

    def __enter__(self) -> TrainingRunLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _record(self, kind: str, values: Mapping[str, Any], *, step: int) -> Record:
        return json_log.make_record(kind, values, step=_step(step), wall_time=self._clock())

    def _log(self, record: Record, **details: Any) -> None:
        if self._closed:
            say_once("logged after close", "A TrainingRunLogger was used after close(); such records are not kept.")
            return
        if self._file is not None or self._callback is not None:
            line = json_log.encode(record)
            if self._file is not None:
                self._file.append(line)
            if self._callback is not None:
                self._call_back(line)
        self._console.show(record, **details)
        for runner in self._sinks:
            runner.send("record", record)
        if not self._ticking and self._worker is not None:
            self._ticking = True
            self._worker.start()

    def _call_back(self, line: str) -> None:
        callback = self._callback
        if callback is None:
            return
        try:
            callback(line)
        except Exception as error:
            self._callback = None
            say(f"The callback failed and gets no more records: {type(error).__name__}: {error}")
            if self._strict:
                raise

    def begin_anew(self) -> None:
        """In a forked child: the threads of sinks and worker are not here."""
        self._prepare()
        self._sinks = ()
        self._console.begin_anew()


def _step(step: Any) -> int:
    try:
        return int(step)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"step must be a whole number, and is {step!r}.") from None


def _with(values: Any, fields: Mapping[str, Any], *, id: int, kind: str) -> Mapping[str, Any]:
    """The fields of `values`, a mapping or an object or None, with `fields` over them."""
    if values is None:
        found: Mapping[str, Any] = {}
    elif isinstance(values, Mapping):
        found = values
    else:
        found = {name: getattr(values, name, None) for name in json_log.FIELDS[kind]}
    return {**found, **fields, "id": id}


def _worker_of(file: JsonFile) -> Worker:
    """A thread that looks after the file, and at once when its room runs low."""
    worker = Worker(file.tick)
    file.when_low = lambda: worker.submit(file.tick)
    return worker


def _finish(worker: Worker | None, file: JsonFile | None) -> None:
    if worker is not None:
        worker.stop()
    if file is not None:
        file.close()


def _in_child() -> None:
    for logger in list(_loggers):
        logger.begin_anew()


os.register_at_fork(after_in_child=_in_child)
