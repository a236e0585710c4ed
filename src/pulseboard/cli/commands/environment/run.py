"""Start a training unchanged and record it: what it prints, what torch trains, telemetry, how it ended.

Metrics are read from the output while it runs. If torch is imported, gradient norms, update ratios, learning rates and
times are measured as with `pb.watch`. The output, the exit code and the results of the training stay the same; a
diagnosis is printed at the end. Nothing is sent anywhere.

  pulseboard run -- python train.py --lr 3e-4
  pulseboard run --dir runs --name baseline -- python train.py
  pulseboard run --wandb -- python train.py        metrics that the script passes to wandb, which stays offline
  pulseboard run --no-watch -- ./train.sh          only the output

The exit code is that of the training; 2 if it could not be started.
"""

from __future__ import annotations

import argparse
import sys

from pulseboard.cli import findings, options, wording
from pulseboard.core.errors import PulseboardError

_LOGGERS = {
    "wandb": "what the script passes to wandb, which stays offline",
    "tensorboard": "the scalars that it passes to a SummaryWriter of torch or tensorboardX",
    "lightning": "the metrics of a Lightning Trainer, even without a logger",
    "transformers": "the logs of a Hugging Face Trainer",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("training", nargs=argparse.REMAINDER, metavar="-- COMMAND …", help="the command that trains")
    parser.add_argument("--dir", default="runs", metavar="DIR", help="the log directory (runs)")
    parser.add_argument("--name", metavar="NAME", help="appended to the number of the run")
    for name, what in _LOGGERS.items():
        parser.add_argument(f"--{name}", action="append_const", dest="loggers", const=name, help=f"record {what}")
    parser.add_argument("--no-watch", action="store_true", help="do not measure inside the training")
    parser.add_argument(
        "--telemetry", type=options.seconds, default=10.0, metavar="SECS", help="time between samples; 0: none (10)"
    )
    parser.add_argument("--no-diagnosis", action="store_true", help="print no diagnosis at the end")


def run(args: argparse.Namespace) -> int:
    from pulseboard.launch.launch import launch

    command = args.training[1:] if args.training[:1] == ["--"] else args.training
    if not command:
        raise PulseboardError("Give the command that trains: pulseboard run -- python train.py")
    if args.no_watch and args.loggers:
        raise PulseboardError(
            f"--{args.loggers[0]} needs to look inside the training, which --no-watch forbids. Leave one of them out."
        )
    ended = launch(
        command,
        dir=args.dir,
        run_tag=args.name,
        watch=not args.no_watch,
        telemetry_secs=args.telemetry,
        loggers=args.loggers or (),
    )
    if ended.left_out_bytes:
        size = wording.size(ended.left_out_bytes)
        print(f"pulseboard: {size} of the output were shown, but not saved or read.", file=sys.stderr)
    print(f"pulseboard: recorded in {ended.directory}", file=sys.stderr, flush=True)
    if not args.no_diagnosis:
        _diagnose(str(ended.directory))
    return ended.exit_code


def _diagnose(directory: str) -> None:
    """Print the diagnosis to stderr: stdout belongs to the training."""
    import contextlib

    from pulseboard.diagnose.diagnosis import diagnose
    from pulseboard.diagnose.report.text import lines_of

    with contextlib.redirect_stdout(sys.stderr):
        for line in lines_of(diagnose(directory)):
            findings.print_line(line)
