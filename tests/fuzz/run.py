"""`make fuzz`: feeds mutated inputs to every target for hours, and keeps those that break a promise in corpus/."""

import argparse
import hashlib
import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.mutate import mutated
from fuzz.targets import Target, all_targets

CORPUS = Path(__file__).resolve().parent / "corpus"


def kept(target: Target) -> list[bytes]:
    """The inputs that once broke a promise, and others worth keeping."""
    return [path.read_bytes() for path in sorted((CORPUS / target.name).glob("*.bin"))]


def inputs(target: Target, seed: int, first: int = 0):
    """Endless inputs; the n-th depends on the seed and n only."""
    known = [*target.seeds, *kept(target)]
    n = first
    while True:
        rng = random.Random(f"{target.name} {seed} {n}")
        yield mutated(rng.choice(known), rng, known)
        n += 1


def fuzz(targets: list[Target], *, seconds: float, seed: int, max_cases: int | None = None) -> int:
    """Take turns until the time is up. Returns the number of inputs that broke a promise."""
    end = time.monotonic() + seconds
    streams = {target.name: inputs(target, seed) for target in targets}
    counts = dict.fromkeys(streams, 0)
    broken = 0
    while time.monotonic() < end and (max_cases is None or max(counts.values()) < max_cases):
        for target in targets:
            data = next(streams[target.name])
            counts[target.name] += 1
            # Before the check: a crash of the process leaves its input behind.
            (CORPUS / target.name).mkdir(exist_ok=True)
            last = CORPUS / target.name / "last-input"
            last.write_bytes(data)
            try:
                target.run(data)
            except Exception:
                broken += 1
                path = CORPUS / target.name / f"{hashlib.sha256(data).hexdigest()[:16]}.bin"
                path.write_bytes(data)
                print(f"{target.name}: {path}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            last.unlink()
    print(", ".join(f"{count} {name}" for name, count in counts.items()), f"inputs; {broken} broke a promise")
    return broken


def main() -> int:
    """The exit code: 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=20261118, help="the same seed makes the same inputs")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--cases", type=int, help="stop after this many inputs per target")
    options = parser.parse_args()
    with all_targets() as targets:
        chosen = [one for one in targets if not options.target or one.name in options.target]
        return 1 if fuzz(chosen, seconds=options.seconds, seed=options.seed, max_cases=options.cases) else 0


if __name__ == "__main__":
    sys.exit(main())
