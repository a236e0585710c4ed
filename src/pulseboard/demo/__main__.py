"""Run one training of the demo: `python -m pulseboard.demo healthy --dir runs-demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from pulseboard.demo.trainings import all_names, training


def main() -> None:
    """Train once."""
    parser = argparse.ArgumentParser(prog="python -m pulseboard.demo", description=__doc__)
    parser.add_argument("name", choices=all_names())
    parser.add_argument("--dir", type=Path, default=Path("runs-demo"), help="log directory (runs-demo)")
    parser.add_argument("--secs", type=float, default=60.0, help="duration in seconds; 0: as fast as possible (60)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    args = parser.parse_args()
    # A diverging training overflows. Its curves show that; warnings would only add noise.
    with np.errstate(all="ignore"):
        training(args.name).train(directory=args.dir, secs=args.secs, seed=args.seed)


if __name__ == "__main__":
    main()
