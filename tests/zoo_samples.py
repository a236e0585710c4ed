"""Logs, reports, runs and verdicts for tests of the scorer."""

from types import SimpleNamespace

import numpy as np
from zoo.scoring.collect import Diagnosed
from zoo.scoring.headlines import Headline
from zoo.scoring.verdicts import Verdict

from pulseboard.core.finding import Finding, RankedCause, RunReport


def finding(slug, severity="warning"):
    return Finding(slug, severity, "train/loss", 1, 2, f"{slug} is here")


def report(*findings, causes=()):
    ranked = tuple(RankedCause(slug, 0.5) for slug in causes)
    return RunReport("run", "/run", (0, 9), "general", {}, findings=findings, causes=ranked)


def report_with_incidents(findings, incidents, **more):
    """A report as schema 2 has it; each incident is (severity, indices of findings, causes)."""
    made = [
        SimpleNamespace(headline=f"Problem {i}", severity=severity, findings=indices, causes=causes)
        for i, (severity, indices, causes) in enumerate(incidents)
    ]
    return SimpleNamespace(findings=findings, causes=(), not_checked=(), incidents=made, **more)


def headline(slug, severity="warning"):
    return Headline(slug, severity, f"{slug} is here", (slug,))


def diagnosed(name, *headlines, folder="wild/a+b", **more):
    known = {"status": "ok", "checks": 9, "logged_steps": 1000, "points": 1000, "causes": (), "names": (name,)}
    return Diagnosed(folder=folder, run=name, headlines=headlines, **{**known, **more})


def verdict(name, label, confidence="high", folder="wild/a+b", **more):
    return Verdict(f"{folder}/{name}", label, confidence, **more)


def log(path, losses, *, column="train_loss"):
    """A CSV file with one loss."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{step},{loss!r}" for step, loss in enumerate(losses)]
    path.write_text("\n".join([f"step,{column}", *rows]) + "\n", encoding="utf-8")


def falling(n, seed=0):
    """A healthy loss."""
    noise = np.random.default_rng(seed).normal(size=n)
    return (0.5 + 2 * np.exp(-np.arange(n) / 30) + 0.02 * noise).tolist()


def broken(n):
    """A loss that ends in NaN."""
    return [*falling(n - 50), *[float("nan")] * 50]
