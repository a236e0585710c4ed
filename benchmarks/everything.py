"""Every subject in one run on one commit: what `make bench` starts.

    python -m benchmarks.everything --write docs/benchmarks.md             about 30 minutes on two quiet cores
    python -m benchmarks.everything --write docs/benchmarks.md --resume    continues a run that was cut off
    python -m benchmarks.everything --quick                                a smoke test; its figures mean nothing

Each subject is a process of its own. What it has measured is on the page when it ends, also if it is interrupted, and
the page begins with what does not hold and what was not measured. The exit code is 0 if everything was measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from benchmarks.harness import setting
from benchmarks.harness.command import interrupt_when_ended
from benchmarks.harness.paths import BENCH, REPOSITORY
from benchmarks.harness.report import write_section

# The subjects in the order in which they run, with the seconds that each took on two cores of an AMD EPYC. Only the
# time left is estimated from them, and from the second run on from what the last one took.
SUBJECTS = {
    "read": 300.0,
    "write": 240.0,
    "watch": 200.0,
    "serve": 240.0,
    "page": 330.0,
    "charts": 60.0,
    "diagnose": 30.0,
    "launch": 170.0,
    "scale": 50.0,
    "alerts": 30.0,
}
_DURATIONS = BENCH / "durations.json"
_STOP_SECS = 30.0


@dataclass(slots=True)
class Progress:
    """How far the run is."""

    expected_secs: dict[str, float]
    began: float = field(default_factory=time.monotonic)
    subject: str = ""
    subject_began: float = 0.0

    def start(self, subject: str) -> None:
        """The subject begins."""
        self.subject, self.subject_began = subject, time.monotonic()

    def end(self) -> float:
        """The subject is done: the seconds that it took."""
        self.expected_secs.pop(self.subject)
        return time.monotonic() - self.subject_began

    def left_secs(self) -> float:
        """An estimate."""
        spent = time.monotonic() - self.subject_began if self.subject in self.expected_secs else 0.0
        rest = sum(secs for subject, secs in self.expected_secs.items() if subject != self.subject)
        return rest + max(0.0, self.expected_secs.get(self.subject, 0.0) - spent)

    def log(self, line: str) -> None:
        """Print a line with the time passed and the time left."""
        passed = time.monotonic() - self.began
        clock = f"{passed // 60:.0f}:{passed % 60:02.0f}"
        print(f"[{clock}, about {self.left_secs() / 60:.0f} min left] {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Run the subjects one after the other."""
    options = _parser().parse_args()
    interrupt_when_ended()
    subjects = options.subjects.split(",")
    if unknown := [name for name in subjects if name not in SUBJECTS]:
        print(f"benchmarks.everything: no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    commit = setting.commit()
    durations = json.loads(_DURATIONS.read_text()) if _DURATIONS.exists() and not options.quick else {}
    progress = Progress({name: durations.get(name, SUBJECTS[name]) for name in subjects})
    end = progress.began + options.minutes * 60
    unmeasured: dict[str, str] = {}
    if options.write and not options.resume:
        for name in subjects:
            write_section(options.write, name=name, body="Not measured yet.")
    for name in subjects:
        progress.start(name)
        reason = _run(name, options, progress, end) if time.monotonic() < end else "the time was over"
        took = progress.end()
        if reason:
            unmeasured[name] = reason
        elif not options.quick:
            durations[name] = round(took)
            _DURATIONS.write_text(json.dumps(durations))
        if options.write:
            passed = time.monotonic() - progress.began
            waiting = dict.fromkeys(progress.expected_secs, "not reached yet")
            write_section(options.write, name="run", body=_summary(commit, passed, subjects, unmeasured | waiting))
        if reason == "interrupted":
            return 130
    progress.log("done" if not unmeasured else f"not measured, or not all of it: {', '.join(unmeasured)}")
    return 1 if unmeasured else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.everything",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--write", metavar="FILE", help="rewrite the sections of a Markdown file")
    add("--resume", action="store_true", help="keep what a run of this commit that was cut off has measured")
    add("--quick", action="store_true", help="a smoke test on small inputs; its figures mean nothing")
    add("--minutes", type=float, default=float("inf"), metavar="N", help="stop after so long, with what is measured")
    add("--subjects", default=",".join(SUBJECTS), metavar="NAMES", help="only these (%(default)s)")
    return parser


def _run(name: str, options: argparse.Namespace, progress: Progress, end: float) -> str:
    """Measure one subject: why it is incomplete, or nothing."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *(["--write", options.write] if options.write else [])]
    command += [f"--{flag}" for flag in ("quick", "resume") if getattr(options, flag)]
    last = ""
    # A group of its own: what it started ends with it.
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        # From a clock and not from a thread that waits: a line may take minutes to come.
        late = threading.Timer(max(0.0, end - time.monotonic()), _stop, [process])
        late.daemon = True
        if end < float("inf"):
            late.start()
        try:
            for line in process.stderr:
                if line.strip():
                    last = line.strip()
                    progress.log(last.removeprefix("benchmarks."))
        except KeyboardInterrupt:
            _stop(process)
            return "interrupted"
        finally:
            late.cancel()
    if process.returncode == 0:
        return ""
    if time.monotonic() >= end:
        return "the time was over"
    return last.removeprefix(f"benchmarks.{name}: ") or f"it ended with {process.returncode}"


def _stop(process: subprocess.Popen[str]) -> None:
    """End a subject and all that it started; it writes what it has measured."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_STOP_SECS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _summary(commit: str, secs: float, subjects: list[str], unmeasured: dict[str, str]) -> str:
    whole = len(subjects) == len(SUBJECTS) and not unmeasured
    lines = [
        f"Run of {setting.today()} on {setting.machine()}, Pulseboard at {commit}: {secs / 60:.0f} minutes, "
        + ("every subject." if whole else f"{len(subjects) - len(unmeasured)} of {len(SUBJECTS)} subjects."),
        *(f"- **Not measured:** {name}, or not all of it: {reason}" for name, reason in unmeasured.items()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
