"""One training of the demonstration as a process of its own: `python -m pulseboard.demo healthy --dir runs-demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from pulseboard.demo.trainings import all_names, training


def main() -> None:
    """Train once."""
    parser = argparse.ArgumentParser(prog="python -m pulseboard.demo", description=__doc__)
    parser.add_argument("name", choices=all_names())
    parser.add_argument("--dir", type=Path, default=Path("runs-demo"), help="where the run's directory is made")
    parser.add_argument("--secs", type=float, default=60.0, help="how long it may take; 0: as fast as it goes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    # What diverges overflows, and that is to be seen in its curves and not in warnings.
    with np.errstate(all="ignore"):
        training(args.name).train(directory=args.dir, secs=args.secs, seed=args.seed)


if __name__ == "__main__":
    main()
