"""Telemetry of a training that is not watched from inside, sampled by the process that started it."""

from __future__ import annotations

import threading
from pathlib import Path

from pulseboard.launch import environment
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.telemetry import Telemetry

# A training that imports torch takes so long until it can be watched from inside, and then samples by itself.
_PATIENCE_SECS = 5.0
_GB = 1 << 30


def sampling(run: ActiveRun, directory: Path, *, every_secs: float, stop: threading.Event) -> None:
    """Sample until `stop` is set, or until the training samples itself. The last sample is taken at the end."""
    claim = directory / environment.CLAIM_FILE

    def log(values: dict[str, float]) -> None:
        run.log_measurements(_of_training(values), max(0, run.last_step))

    telemetry = Telemetry(log, run_directory=str(directory), interval_secs=every_secs)
    try:
        ended = stop.wait(min(_PATIENCE_SECS, every_secs))
        while not claim.exists():
            telemetry.sample() if ended else telemetry.tick()
            if ended:
                return
            ended = stop.wait(1.0)
    finally:
        telemetry.close()


def _of_training(values: dict[str, float]) -> dict[str, float]:
    """The memory of child processes is that of the training: this process has no other children."""
    values = {tag: value for tag, value in values.items() if tag != "memory/ram_main_process_gb"}
    children = values.pop("system/children_ram", None)
    return values if not children else {**values, "memory/ram_main_process_gb": children / _GB}
