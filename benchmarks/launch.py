"""What `pulseboard run` costs a training that it watches: `python -m benchmarks.launch [--rounds 3] [--steps 600]`.

The same torch training with and without, in turn. Counted is the processor time of the training's loop, which it prints
itself, so that neither imports nor other work on the machine count; and the end is compared bit for bit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pulseboard as pb

TRAINING = """
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
layers = [one for _ in range(6) for one in (torch.nn.Linear(384, 384), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(384, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.randn(4096, 384)
began = None
for step in range(int(sys.argv[1])):
    if step == 20:
        began = time.process_time()
    batch = data[torch.randint(0, 4096, (128,))]
    loss = (model(batch) - batch.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f}")
print("END", time.process_time() - began, loss.item().hex())
"""


def main() -> None:
    """Measure, and print both medians and what the run itself reports."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    secs: dict[str, list[float]] = {"without": [], "with": []}
    ends, reported = set(), []
    with tempfile.TemporaryDirectory() as temporary:
        script = Path(temporary) / "train.py"
        script.write_text(TRAINING)
        training = [sys.executable, str(script), str(args.steps)]
        for i in range(args.rounds):
            logs = Path(temporary) / f"runs{i}"
            launcher = [sys.executable, "-m", "pulseboard", "run", "--dir", str(logs), "--no-diagnosis", "--"]
            for kind, command in (("without", training), ("with", [*launcher, *training])):
                _, took, end = _last_line(command)
                secs[kind].append(float(took))
                ends.add(end)
            (run,) = pb.read(logs).values()
            reported.append(float(statistics.median(run.series("pulseboard/overhead").values[1:])))
    without, with_it = (statistics.median(secs[kind]) for kind in ("without", "with"))
    print(
        f"processor time of {args.steps} steps: {without:.2f} s without, {with_it:.2f} s with pulseboard run, ", end=""
    )
    print(f"{100 * (with_it / without - 1):+.1f} %; {1e3 * without / args.steps:.1f} ms per step")
    print(f"reported by the run itself: {100 * statistics.median(reported):.2f} % of the step time")
    print(f"last loss bit for bit the same: {'yes' if len(ends) == 1 else 'no'}")


def _last_line(command: list[str]) -> list[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(pb.__file__).parents[1])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1].split()


if __name__ == "__main__":
    main()
