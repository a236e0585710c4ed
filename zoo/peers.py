"""Peers: the verdicts of other tools on the same trainings: the zoo, other frameworks' and labeled runs.

Each tool gets every metric it understands, under a name it recognizes, and is run with its defaults. A warning or worse
counts as an alarm, for them as for us.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.read import any_runs
from zoo import labels, wandb_rules
from zoo.fault import all_faults
from zoo.labels import CORPUS, labeled_runs
from zoo.peer_csv import as_csv
from zoo.plan import HEALTHY, PlannedTraining
from zoo.score import judge
from zoo.scoring.foreign import diagnosed, truths
from zoo.scoring.headlines import Headline, headlines
from zoo.scoring.verdicts import ACCEPTED, NO_ALARM

OURS = "pulseboard"
_TIMEOUT_SECS = 60


@dataclass(frozen=True)
class Peer:
    """Another tool: its version, its command, and what its findings mean here."""

    name: str
    version: str
    arguments: Callable[[str], list[str]] | None  # None: no command; its rules read the log themselves
    alarms: Callable[[str], list[str]]  # its output, or the log -> kinds of its warnings and worse
    means: dict[str, tuple[str, ...]]  # kind -> our slugs with the same meaning


def _runmedic(text: str) -> list[str]:
    return [f["check"] for run in json.loads(text) for f in run["findings"] if f["severity"] != "info"]


def _trainspotter(text: str) -> list[str]:
    return [f["detector"] for f in json.loads(text)["findings"] if f["severity"] != "info"]


def _trainproof(text: str) -> list[str]:
    findings = [f for report in json.loads(text)["reports"] for f in report["findings"]]
    # TP-NO-LOSS is about the log, not about the training.
    return [f["id"] for f in findings if f["level"] in ("WARN", "FAIL") and f["id"] not in ("TP-NO-LOSS",)]


_NAN = ("loss-nan", "gradient-nan", "nan-masked")
_RISES = ("loss-diverged", "loss-drift-up", "loss-level-shift", "data-shift", "resume-discontinuity")
_SPIKES = ("loss-spike", "batch-outlier", "loss-level-shift", "data-shift", "resume-discontinuity", "loss-oscillating")
_NO_PROGRESS = (
    "loss-flat",
    "loss-plateau",
    "loss-at-ignorance",
    "loss-at-marginal",
    "eval-at-chance",
    "weights-frozen",
    "update-too-small",
)
_GRADIENTS = ("gradient-spike", "gradient-exploding", "gradient-scale-off", "clipping-excess")
_OVERFITS = ("overfitting", "val-gap-from-start", "best-checkpoint-missed")
_SLOWS = ("throughput-drop", "step-time-periodic", "data-stall", "rank-straggler")
_RATE = ("lr-jump", "lr-zero", "lr-no-warmup", "lr-never-decays", "lr-horizon-off")

PEERS = (
    Peer(
        "runmedic",
        "0.1.1",
        lambda path: ["runmedic", "diagnose", path, "--json"],
        _runmedic,
        {
            "non_finite": _NAN,
            "divergence": _RISES,
            "loss_spikes": _SPIKES,
            "no_learning": _NO_PROGRESS,
            "overfitting": _OVERFITS,
            "val_below_train": ("val-below-train",),
            "grad_spikes": _GRADIENTS,
            "constant_lr_plateau": ("loss-plateau", "lr-never-decays"),
            "input_bound": ("data-stall", "gpu-underused"),
            "slow_steps": _SLOWS,
            "slowdown": _SLOWS,
            "memory_growth": ("memory-growth", "oom-risk"),
        },
    ),
    Peer(
        "trainspotter",
        "0.2.6",
        lambda path: ["trainspotter", "analyze", path, "--format", "csv", "--output", "json"],
        _trainspotter,
        {
            "spikes": _SPIKES,
            "divergence": (*_RISES, *_NAN),
            "plateau": _NO_PROGRESS,
            "overfitting": _OVERFITS,
            "lr_schedule": _RATE,
            "grad_norm": _GRADIENTS,
            "throughput": _SLOWS,
            "eval_noise": ("eval-noisy", "eval-nondeterministic"),
            "loss_floor": ("loss-too-good", "loss-zero"),
        },
    ),
    Peer(
        "trainproof",
        "0.22.0",
        lambda path: ["trainproof", "epoch", path, "--format", "csv", "--json"],
        _trainproof,
        {
            "TP-NAN": _NAN,
            "TP-NAN-GRAD": _NAN,
            "TP-ZERO-LOSS": ("loss-zero", "nan-masked"),
            "TP-ZERO-LOSS-ONSET": ("loss-zero", "nan-masked"),
            "TP-FLAT": _NO_PROGRESS,
            "TP-DEAD-RUN": _NO_PROGRESS,
            "TP-DIVERGE": _RISES,
            "TP-ZERO-GRAD": ("gradient-zeros", "gradient-vanishing"),
            "TP-GRAD-SPIKE": _GRADIENTS,
            "TP-ZERO-LR": _RATE,
            "TP-ZERO-LR-PARTIAL": _RATE,
            "TP-OVERFIT": _OVERFITS,
            "TP-STEP-CLIFF": _SLOWS,
            "TP-LOADER-BOUND": ("data-stall",),
        },
    ),
    Peer(
        "W&B MCP server's rules",
        "32f6b31",
        None,
        wandb_rules.alarms,
        {
            "nan_warnings": _NAN,
            "diverging": (*_RISES, "loss-oscillating", "loss-spike"),
            "overfit_signal": _OVERFITS,
        },
    ),
)


@dataclass(frozen=True)
class Subject:
    """One training that every tool is run on."""

    name: str
    accepted: frozenset[str]  # our slugs that match what is wrong; none if it is healthy
    steps: int
    log: str  # as CSV
    ours: tuple[tuple[str, ...], ...]  # our alarms, each with its slugs

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.accepted


@dataclass(frozen=True)
class Verdict:
    """The alarms of one tool on one subject, each with its equivalent slugs."""

    subject: Subject
    alarms: tuple[tuple[str, ...], ...]

    @property
    def right(self) -> bool:
        """Whether an alarm matches what is wrong."""
        return any(set(slugs) & self.subject.accepted for slugs in self.alarms)


# ---- the trainings


def zoo_subjects(planned: Iterable[PlannedTraining], directory: Path) -> list[Subject]:
    """The trainings of the zoo that were built."""
    found = []
    for judged in judge(planned, directory):
        training = next(iter(trainings(any_runs(directory / judged.training.name))))
        fault = None if judged.training.fault == HEALTHY else all_faults()[judged.training.fault]
        accepted = frozenset() if fault is None or judged.healthy else frozenset(fault.accepted)
        steps = (judged.report.steps or (0, 0))[1]
        log = as_csv(training, case_of(training))
        found.append(Subject(judged.training.name, accepted, steps, log, our_alarms(headlines(judged.report))))
    return found


def foreign_subjects(directory: Path, *, held_out: bool) -> list[Subject]:
    """The trainings by other frameworks: of the bases that are used for tuning, or of those that are held out."""
    chosen = truths(directory, held_out=held_out)
    found = []
    for one, case in diagnosed(directory, chosen, cache=directory / ".diagnosed"):
        runs = {training.name: training for training in trainings(any_runs(directory / "runs" / one.name))}
        # Several runs in a directory are about the same training: the one that we judge first.
        training = runs[case.runs[0].run]
        log = as_csv(training, case_of(training))
        steps = case.runs[0].logged_steps
        found.append(Subject(f"foreign-{one.name}", one.verdict.findings, steps, log, our_alarms(case.alarms)))
    return found


def labeled_subjects() -> list[Subject]:
    """The labeled runs, without those of low confidence."""
    found = []
    for run in labeled_runs():
        if run.report is None or run.confidence == "low":
            continue
        training = next(one for one in trainings(any_runs(CORPUS / run.path)) if one.name == run.report.run)
        accepted = frozenset() if run.label in NO_ALARM else frozenset(ACCEPTED[run.label])
        log = as_csv(training, case_of(training))
        steps = (run.report.steps or (0, 0))[1]
        found.append(Subject(f"label-{len(found)}", accepted, steps, log, our_alarms(headlines(run.report))))
    return found


# ---- verdicts


def our_alarms(lines: Iterable[Headline]) -> tuple[tuple[str, ...], ...]:
    """The slugs of each headline that is a warning or worse."""
    return tuple(line.slugs for line in lines if line.alarms)


def our_verdicts(subjects: Iterable[Subject]) -> list[Verdict]:
    """Pulseboard's own verdicts."""
    return [Verdict(subject, subject.ours) for subject in subjects]


def peer_verdicts(peer: Peer, subjects: Iterable[Subject], directory: Path, *, jobs: int = 2) -> list[Verdict]:
    """The verdicts of a peer. Its output is cached in the directory, by file."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda subject: _verdict(peer, subject, directory), subjects))


def _verdict(peer: Peer, subject: Subject, directory: Path) -> Verdict:
    if peer.arguments is None:
        return Verdict(subject, tuple(peer.means[kind] for kind in peer.alarms(subject.log)))
    log = directory / "logs" / f"{subject.name}.csv"
    output = directory / "said" / f"{subject.name}.{peer.name}.json"
    for path in (log, output):
        path.parent.mkdir(parents=True, exist_ok=True)
    same = log.exists() and log.read_text(encoding="utf-8") == subject.log
    if not same:
        for old in output.parent.glob(f"{subject.name}.*.json"):
            old.unlink(missing_ok=True)
        log.write_text(subject.log, encoding="utf-8")
    if not output.exists():
        command = peer.arguments(str(log))
        command[0] = str(_programs(directory) / command[0])
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECS, check=False)
        output.write_text(done.stdout, encoding="utf-8")
    try:
        kinds = peer.alarms(output.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError):  # it found nothing to judge
        kinds = []
    return Verdict(subject, tuple(peer.means.get(kind, ()) for kind in kinds))


def install(directory: Path) -> list[Peer]:
    """Install the peers, in the versions we compare with, into a virtual environment in the directory."""
    programs = _programs(directory)
    if not (programs / ("python.exe" if os.name == "nt" else "python")).exists():
        print(f"Creating a virtual environment for the peers in {directory}", file=sys.stderr)
        venv.create(directory / "venv", with_pip=True)
    installed = []
    for peer in PEERS:
        if peer.arguments is None:
            installed.append(peer)
            continue
        wanted = f"{peer.name}=={peer.version}"
        command = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            installed.append(peer)
        else:
            reason = (done.stderr.strip().splitlines() or ["no output from pip"])[-1]
            print(f"{wanted} could not be installed and is left out: {reason}", file=sys.stderr)
    if all(peer.arguments is None for peer in installed):
        raise SystemExit("None of the peers could be installed. Can pip reach a package index?")
    return installed


def _programs(directory: Path) -> Path:
    return (directory / "venv" / ("Scripts" if os.name == "nt" else "bin")).resolve()


# ---- the table


_HEAD = (
    "faulty runs with any alarm",
    "with an alarm that matches the fault",
    "healthy runs flagged",
    "false alarms",
    "per 10,000 healthy steps",
)


def table(verdicts: dict[str, list[Verdict]], *, by_steps: bool = True) -> str:
    """The scores in Markdown, one row per tool; without the last column if steps are not comparable."""
    n = len(_HEAD) if by_steps else len(_HEAD) - 1
    lines = [f"| | {' | '.join(_HEAD[:n])} |", "| --- |" + " ---: |" * n]
    lines += [f"| {name} | {' | '.join(list(_row(each))[:n])} |" for name, each in verdicts.items()]
    return "\n".join(lines)


def _row(verdicts: list[Verdict]) -> Iterator[str]:
    faulty = [one for one in verdicts if not one.subject.healthy]
    healthy = [one for one in verdicts if one.subject.healthy]
    yield _share(sum(bool(one.alarms) for one in faulty), len(faulty))
    yield _share(sum(one.right for one in faulty), len(faulty))
    yield _share(sum(bool(one.alarms) for one in healthy), len(healthy))
    false = sum(len(one.alarms) for one in healthy)
    yield str(false)
    yield f"{1e4 * false / max(1, sum(one.subject.steps for one in healthy)):.2f}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"


def compare(planned: Iterable[PlannedTraining], directory: Path, *, jobs: int = 2) -> str:
    """The tables of the zoo, and of the labeled runs if they exist."""
    planned = list(planned)
    held_out = {one.name for one in planned if one.held_out}
    zoo = zoo_subjects(planned, directory)
    groups = {
        "The zoo, held out from our tuning": [one for one in zoo if one.name in held_out],
        "The whole zoo": zoo,
    }
    if labels.available():
        groups["Labeled runs of public repositories, high and medium confidence"] = labeled_subjects()
    return _tables(groups, directory / ".peers", jobs=jobs)


def compare_foreign(directory: Path, *, held_out: bool, jobs: int = 2) -> str:
    """The table of the trainings by other frameworks."""
    title = f"Trainings by other frameworks, bases {'held out from' if held_out else 'used for'} our tuning"
    return _tables({title: foreign_subjects(directory, held_out=held_out)}, directory / ".peers", jobs=jobs)


def compare_small(directory: Path, *, held_out: bool, jobs: int = 2) -> str:
    """The table of one half of the small trainings."""
    title = f"Small trainings, the half {'held out from' if held_out else 'used for'} our tuning"
    return _tables({title: foreign_subjects(directory, held_out=held_out)}, directory / ".peers", jobs=jobs)


def _tables(groups: dict[str, list[Subject]], directory: Path, *, jobs: int) -> str:
    peers = install(directory)
    tables = []
    for title, subjects in groups.items():
        if not subjects:
            continue
        verdicts = {OURS: our_verdicts(subjects)}
        for peer in peers:
            verdicts[f"{peer.name} {peer.version}"] = peer_verdicts(peer, subjects, directory, jobs=jobs)
        # Steps of other people's logs are updates, epochs or game moves, so alarms per step mean nothing there.
        tables.append(f"{title}:\n\n{table(verdicts, by_steps='Labeled' not in title)}")
    if not tables:
        raise SystemExit(f"Nothing to compare in {directory.parent}. Build the trainings first: python -m zoo build")
    return "\n\n".join(tables)
