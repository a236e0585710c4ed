"""TrainingRunLogger: logs the calls of a training loop to the JSON log and the console."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pulseboard.record.console.console import Console, LogVerbosity
from pulseboard.record.json_array import json_file
from pulseboard.record.json_array.json_file import JsonFile
from pulseboard.record.messages import warn, warn_once
from pulseboard.record.sink_runner import SinkRunner
from pulseboard.record.worker import Worker
from pulseboard.rundir import json_log
from pulseboard.rundir.json_log import MOE_IN_STEP, Record

if TYPE_CHECKING:
    from pulseboard.record.active_run import ActiveRun

_loggers: weakref.WeakSet[TrainingRunLogger] = weakref.WeakSet()


class TrainingRunLogger:
    """Logs a run. Each call is one record: it is written to the file, printed, and passed to callback and sinks.

    Any thread may log. After a fork, the child continues with its own file. Errors of the disk, the console, a sink or
    the callback never reach the training loop; a value that is not a number does.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        callback: Callable[[str], object] | None = None,
        verbosity: int = LogVerbosity.DEFAULT,
        *,
        total_steps: int | None = None,
        run: ActiveRun | None = None,
        sinks: Iterable[SinkRunner] = (),
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Append to the JSON array at `path`; without a path, or with /dev/null, write no file.

        `callback` gets each record as a line of JSON. `verbosity` is a LogVerbosity or its number. With `total_steps`
        the console shows percentage and ETA of the whole run. `run` also gets each record, for its event file and all
        of its sinks; so do further `sinks`.
        """
        self._callback = callback
        self._console = Console(verbosity=verbosity, total_steps=total_steps)
        self._run = run
        self._sinks = tuple(sinks)
        self._strict = strict
        self._clock = clock
        self._moe: Record | None = None
        self._moe_is_new = False  # logged after the last step record
        self._closed = False
        self._prepare()
        path = os.fspath(path) if path is not None else os.devnull
        self._file = json_file.open_shared(path, strict=strict) if path and path != os.devnull else None
        self._worker = _maintenance_worker(self._file) if self._file is not None else None
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
        """Log a training step. It gets MoE fields if log_moe_stats was called for this step or since the last."""
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
        """Log an evaluation."""
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
        """Log the state of a router, from a trainer's get_moe_stats(). Does nothing if `valid` is false."""
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
        """Log what a GPU is doing: a mapping, an object with attributes, or keywords, named as in the record."""
        self._log(self._record("gpu", _merged(state, fields, id=id, kind="gpu"), step=step))

    def log_gpu_model(self, id: int, model: Any = None, *, step: int = 0, **fields: Any) -> None:
        """Log the model of a GPU: a mapping, an object with attributes, or keywords, named as in the record."""
        self._log(self._record("gpu-model", _merged(model, fields, id=id, kind="gpu-model"), step=step))

    def log_allocator(self, step: int, stats: Any) -> None:
        """Log memory by segment, in bytes: see json_log.segments for the forms that `stats` may have."""
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
        """Log what the hardware could do at best: operations, tokens per second, and peaks in TFLOP/s.

        From here on, steps are compared with `tps`. The data types are only printed.
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
        """Log a split of the data. `files` is their number, their names, or their names with the tokens of each."""
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
        """Set how many steps the run will have, for the console's percentage and ETA."""
        self._console.set_total_steps(total_steps)

    def flush(self) -> None:
        """Write the file to disk."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End the log. The sinks are not closed: that is up to the code that created them."""
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
            warn_once("logged after close", "A TrainingRunLogger was used after close(); such records are dropped.")
            return
        if self._file is not None or self._callback is not None:
            line = json_log.encode(record)
            if self._file is not None:
                self._file.append(line)
            if self._callback is not None:
                self._call_back(line)
        self._console.show(record, **details)
        if self._run is not None:
            self._run.log_record(record)
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
            warn(f"The callback failed and gets no more records: {type(error).__name__}: {error}")
            if self._strict:
                raise

    def after_fork(self) -> None:
        """In a forked child: the threads of sinks and worker do not exist here."""
        self._prepare()
        self._sinks = ()
        self._console.after_fork()


def _step(step: Any) -> int:
    try:
        return int(step)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"step must be a whole number, not {step!r}.") from None


def _merged(values: Any, fields: Mapping[str, Any], *, id: int, kind: str) -> Mapping[str, Any]:
    """The fields of `values` (a mapping, an object or None), overridden by `fields`."""
    if values is None:
        given: Mapping[str, Any] = {}
    elif isinstance(values, Mapping):
        given = values
    else:
        given = {name: getattr(values, name, None) for name in json_log.FIELDS[kind]}
    return {**given, **fields, "id": id}


def _maintenance_worker(file: JsonFile) -> Worker:
    """A thread that maintains the file, and at once when its room runs low."""
    worker = Worker(file.tick)
    file.when_low = lambda: worker.submit(file.tick)
    return worker


def _finish(worker: Worker | None, file: JsonFile | None) -> None:
    if worker is not None:
        worker.stop()
    if file is not None:
        file.close()


def _after_fork() -> None:
    for logger in list(_loggers):
        logger.after_fork()


os.register_at_fork(after_in_child=_after_fork)
