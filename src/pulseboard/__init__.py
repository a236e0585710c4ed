"""Pulseboard watches machine-learning training runs and says what is wrong with them.

import pulseboard as pb

run = pb.init(config={"lr": 3e-4})         # record to runs/<date>_<number>/
run.log({"train/loss": loss}, step=step)
run.finish()

runs = pb.read("runs")                     # read: run name -> run
runs["baseline"].tags("scalar")            # the tags of a kind
s = runs["baseline"].series("train/loss")  # s.steps, s.wall_times, s.values: NumPy arrays

print(pb.diagnose("runs"))                 # what is wrong with each run, the likely cause, and what to do
print(pb.guide("runs"))                    # the guide of the training system, filled in for each run

pb.serve("runs")                           # the dashboard; `pulseboard runs/` in a terminal
"""

from __future__ import annotations

import importlib
import os
import sys
import types

from pulseboard import _moved

TYPE_CHECKING = False  # for type checkers it is true. Not from typing: that takes longer to load than this package
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pulseboard.core.errors import PulseboardError
    from pulseboard.core.series import Series
    from pulseboard.diagnose.diagnosis import Diagnosis
    from pulseboard.diagnose.scorecard.scorecard import Scorecards
    from pulseboard.instruments.watch.watch import watch
    from pulseboard.read.event_files.cache import Cache
    from pulseboard.read.run import Run
    from pulseboard.read.runs import Log, Runs
    from pulseboard.record.compat.summary_writer import SummaryWriter
    from pulseboard.record.compat.training_run_logger import TrainingRunLogger
    from pulseboard.record.console.console import LogVerbosity
    from pulseboard.record.media.values import (
        Audio,
        ConfusionMatrix,
        Histogram,
        Image,
        PRCurve,
        Table,
        Text,
        Video,
    )
    from pulseboard.record.run import current_run, finish, init, log
    from pulseboard.serve.background import BackgroundServer

__version__ = "0.1.0"
__all__ = [
    "Audio",
    "ConfusionMatrix",
    "Histogram",
    "Image",
    "Log",
    "LogVerbosity",
    "PRCurve",
    "PulseboardError",
    "Run",
    "Runs",
    "Series",
    "SummaryWriter",
    "Table",
    "Text",
    "TrainingRunLogger",
    "Video",
    "__version__",
    "current_run",
    "diagnose",
    "finish",
    "guide",
    "init",
    "log",
    "plot",
    "read",
    "serve",
    "watch",
]

# Public names and the modules that define them. They load on first use, so `import pulseboard` costs a training job
# almost nothing.
_MODULES = {
    "Log": "pulseboard.read.runs",
    "LogVerbosity": "pulseboard.record.console.console",
    "PulseboardError": "pulseboard.core.errors",
    "Run": "pulseboard.read.run",
    "Runs": "pulseboard.read.runs",
    "Series": "pulseboard.core.series",
    "SummaryWriter": "pulseboard.record.compat.summary_writer",
    "TrainingRunLogger": "pulseboard.record.compat.training_run_logger",
    "current_run": "pulseboard.record.run",
    "finish": "pulseboard.record.run",
    "init": "pulseboard.record.run",
    "log": "pulseboard.record.run",
    "watch": "pulseboard.instruments.watch.watch",
}
_MEDIA = "Audio ConfusionMatrix Histogram Image PRCurve Table Text Video"
_MODULES |= dict.fromkeys(_MEDIA.split(), "pulseboard.record.media.values")

Path = str | os.PathLike[str]


def read(
    *paths: Path,
    progress: Callable[[int, int], None] | None = None,
    cache: Cache | None = None,
    arrays: bool = False,
) -> Runs:
    """Read every run below the given log directories and return them by name.

    A path is a log directory, a log file of any format, a pattern such as `runs/2026-*`, or a `name:path` pair that
    puts its runs below `name`.

    progress  called as `progress(done, total)` while files load
    cache     keeps what was read, so that the next read of unchanged files is instant
    arrays    load NumPy while files load: saves time if most series will be used as arrays
    """
    from pulseboard.read.runs import read as read_runs

    return read_runs(*paths, progress=progress, cache=cache, arrays=arrays)


def _any_runs(*paths: Path, progress: Callable[[int, int], None] | None = None) -> Runs:
    return read(*paths, progress=progress)


read.any_runs = _any_runs  # type: ignore[attr-defined]  # the documented name before `read` took every format


def diagnose(
    *paths: Path | Runs,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    runs: Iterable[str] | None = None,
    against: Path | Iterable[Path] | None = None,
) -> Diagnosis:
    """Diagnose every training below the paths: what is wrong, since when, the likely cause, and what to do.

    profile  a shipped profile ("general", "gpt", "hjepa", "diffusion", "moe") or a TOML file; chosen by tags if None
    roles    which tag has which role, where the names do not say: `{"train.loss": "my_loss"}`
    runs     names of the runs to diagnose; all of them if None
    against  paths of known-good runs of the same task; reports where curves leave their range
    """
    from pulseboard.diagnose.diagnosis import diagnose as diagnose_runs

    return diagnose_runs(*paths, profile=profile, roles=roles, runs=runs, against=against)


def guide(*paths: Path | Runs, profile: str | None = None, runs: Iterable[str] | None = None) -> Scorecards:
    """Fill in a training guide for every run below the paths: values, verdicts, stages, flowchart, patterns.

    profile  whose guide: "gpt", "visualization", "hjepa", "diffusion", "moe" or a TOML file; chosen by tags if None
    runs     names of the runs; all of them if None
    """
    from pulseboard.diagnose.scorecard.scorecard import guide as fill_in

    return fill_in(*paths, profile=profile, runs=runs)


def plot(
    *paths: Path | Runs | Run,
    tag: str = "",
    runs: Iterable[str] | None = None,
    smoothing: float = 0.0,
    log: bool = False,
) -> Any:
    """Draw scalars with matplotlib, one panel per tag and one curve per run, and return the figure.

    paths      log directories, or what `pb.read` returned, or single runs
    tag        regular expression of the tags to draw; at most twelve may match
    runs       names of the runs; all of them if None
    smoothing  from 0 (none) to below 1: the weight of an exponential average
    log        logarithmic scale for values
    """
    from pulseboard.export.plot import plot as plot_runs

    return plot_runs(*paths, tag=tag, runs=runs, smoothing=smoothing, log=log)


def serve(
    *paths: Path,
    block: bool = False,
    host: str = "localhost",
    port: int | None = None,
    prefix: str = "",
    title: str = "Pulseboard",
    reload_secs: float = 5.0,
    token: str | None = None,
    read_token: str | None = None,
    token_file: str | None = None,
    new_token: bool = False,
    allow_hosts: Sequence[str] = (),
    user_header: str | None = None,
    proxies: Sequence[str] = (),
    follow_links: bool = False,
    media: Sequence[str] = (),
    certfile: str | None = None,
    keyfile: str | None = None,
    frame_ancestors: Sequence[str] = ("'self'",),
) -> BackgroundServer:
    """Serve the dashboard for these log directories on a background thread.

    The returned object has `url`, `wait()` and `stop()`, and shows the dashboard in a notebook cell.

    block         return only when the server has stopped
    port          None: 6006 or the next free port; 0: any free port
    prefix        path prefix behind a proxy, such as "/board"
    reload_secs   how often to look for changes where the file system does not report them; 0: read once
    token         required for every request; `read_token` gives read-only access; `token_file` holds several
    new_token     replace the token that was generated at an earlier start
    allow_hosts   further host names that browsers may use for this server
    user_header   header in which a proxy names the user whom it has logged in; `proxies` are its addresses, if not here
    follow_links  also follow symlinks that lead out of the log directories
    media         of a database: directories and URLs that hold the logs of its runs, for images and audio
    certfile      TLS certificate, with `keyfile` unless it contains the key
    """
    from pulseboard.serve.background import serve as serve_in_background

    return serve_in_background(
        *paths,
        block=block,
        host=host,
        port=port,
        prefix=prefix,
        title=title,
        reload_secs=reload_secs,
        token=token,
        read_token=read_token,
        token_file=token_file,
        new_token=new_token,
        allow_hosts=allow_hosts,
        user_header=user_header,
        proxies=proxies,
        follow_links=follow_links,
        media=media,
        certfile=certfile,
        keyfile=keyfile,
        frame_ancestors=frame_ancestors,
    )


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'pulseboard' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext pulseboard`: adds `%pulseboard --logdir runs`, which shows the dashboard in a notebook cell."""
    from pulseboard.cli import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext pulseboard`: stops the servers that the notebook started."""
    from pulseboard.cli import notebook

    notebook.unload(shell)


class _Package(types.ModuleType):
    """Keeps `pb.read`, `pb.diagnose` and `pb.serve` functions.

    Importing a package `pulseboard.read` would set the attribute `read` of this module to that package.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, types.ModuleType) and isinstance(vars(self).get(name), types.FunctionType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
_moved.install()
