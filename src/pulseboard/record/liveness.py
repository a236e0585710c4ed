"""Liveness: whether another process is still recording a run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pulseboard.record.messages import inform
from pulseboard.rundir.run_file import RunFile, find_run_file

HEARTBEAT_SECS = 10.0
"""How often a run that is being recorded writes its heartbeat."""

# A process on another machine that lets this time pass without a heartbeat is dead.
_SILENT_SECS = 2.5 * HEARTBEAT_SECS
# A heartbeat this old is not watched at all. Longer than clocks of different machines usually differ.
_OLD_SECS = 300.0


def this_process() -> dict[str, Any]:
    """What identifies this process on this machine, as fields of run.json. Empty where there is no /proc."""
    started = _started(os.getpid())
    return {} if started is None else {"pid_space": _pid_space(), "process_started": started}


def is_recorded_elsewhere(
    directory: Path, *, sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.time
) -> bool:
    """Whether a process other than this one is recording the run in `directory`.

    If that process would be on another machine, its heartbeat is watched for up to 25 seconds.
    """
    found = find_run_file(directory, trusted=True)
    if found is None or found.status != "running":
        return False
    pid, pid_space = found.fields.get("pid"), found.fields.get("pid_space")
    if pid_space and pid_space == _pid_space() and isinstance(pid, int):
        return pid != os.getpid() and is_running(found.fields)
    return _has_heartbeat(directory, found, sleep, clock)


def is_running(fields: Mapping[str, Any]) -> bool:
    """Whether the process that wrote these fields, on this machine, still exists."""
    pid, started = fields.get("pid"), fields.get("process_started")
    return isinstance(pid, int) and started is not None and _started(pid) == started


def same_machine(fields: Mapping[str, Any]) -> bool:
    """Whether the process that wrote these fields can be seen from here."""
    return bool(fields.get("pid_space")) and fields["pid_space"] == _pid_space()


def _has_heartbeat(directory: Path, found: RunFile, sleep: Callable[[float], None], clock: Callable[[], float]) -> bool:
    if clock() - found.last_active > _OLD_SECS:
        return False
    host = found.fields.get("host") or "another machine"
    inform(f"Waiting up to {_SILENT_SECS:g} s to see whether {directory.name} is still being recorded on {host}.")
    for _ in range(int(_SILENT_SECS)):
        sleep(1.0)
        now = find_run_file(directory, trusted=True)
        if now is None or now.status != "running":
            return False
        if now.heartbeat != found.heartbeat:
            return True
    return False


def _pid_space() -> str:
    """Where process ids are unique: a boot of a machine, and a container on it. Empty if that is not known."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """When the process started, in clock ticks since the boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    return None if state == "Z" else int(fields[18])
