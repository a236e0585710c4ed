"""Pulseboard watches machine-learning training runs and says what is wrong with them.

import pulseboard as pb

run = pb.init(config={"lr": 3e-4})         # record: runs/<date>_<number>/
run.log({"train/loss": loss}, step=step)
run.finish()

log = pb.read("runs")                      # read: run name -> run
log["baseline"].tags("scalar")             # the tags of a kind
s = log["baseline"].series("train/loss")   # s.steps, s.wall_times, s.values: NumPy arrays

print(pb.diagnose("runs"))                 # what is wrong with each run, why probably, and what to do

pb.serve("runs")                           # the dashboard; `pulseboard runs/` in a terminal
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.core.errors import PulseboardError
    from pulseboard.core.series import Series
    from pulseboard.diagnose.diagnosis import diagnose
    from pulseboard.instruments.watch import watch
    from pulseboard.read.log import Log, read
    from pulseboard.record.console import LogVerbosity
    from pulseboard.record.run import current_run, init
    from pulseboard.record.summary_writer import SummaryWriter
    from pulseboard.record.training_run_logger import TrainingRunLogger
    from pulseboard.serve.background import serve

__version__ = "0.1.0"
__all__ = [
    "Log",
    "LogVerbosity",
    "PulseboardError",
    "Series",
    "SummaryWriter",
    "TrainingRunLogger",
    "__version__",
    "current_run",
    "diagnose",
    "init",
    "read",
    "serve",
    "watch",
]

# Where each public name lives. Loaded on first use, so that `import pulseboard` costs a training
# job almost nothing.
_HOMES = {
    "Log": "pulseboard.read.log",
    "LogVerbosity": "pulseboard.record.console",
    "PulseboardError": "pulseboard.core.errors",
    "Series": "pulseboard.core.series",
    "SummaryWriter": "pulseboard.record.summary_writer",
    "TrainingRunLogger": "pulseboard.record.training_run_logger",
    "current_run": "pulseboard.record.run",
    "diagnose": "pulseboard",  # a room that can be called
    "init": "pulseboard.record.run",
    "read": "pulseboard",  # and so is this
    "serve": "pulseboard",  # and this
    "watch": "pulseboard.instruments.watch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pulseboard' has no attribute {name!r}")
    home = _HOMES[name]
    if home == "pulseboard":
        return importlib.import_module(f"pulseboard.{name}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext pulseboard` in a notebook: from then on `%pulseboard --logdir runs` shows the dashboard."""
    from pulseboard.cli import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext pulseboard`: ends the servers that the notebook started."""
    from pulseboard.cli import notebook

    notebook.unload(shell)
