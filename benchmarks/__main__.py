"""`python -m benchmarks` lists the benchmarks, one line each."""

from importlib import import_module

SUBJECTS = ("read", "write", "watch", "serve", "page", "charts", "diagnose")
OTHERS = {
    "alerts": "from the point that shows a fault to the message: --rounds N",
    "compare": "the targets of two reports side by side: BEFORE.md AFTER.md",
    "launch": "what `pulseboard run` costs a training that it watches: --rounds N --steps N",
    "scale": "what runs in ClickHouse cost, and several users of them: --runs N --steps N",
    "kills": "what killed processes lose of each kind of record: HOW_MANY",
    "versions": "two checkouts side by side, by CPU time: OLD_CHECKOUT",
}


def main() -> None:
    """Print the list."""
    lines = {name: str(import_module(f"benchmarks.{name}").__doc__).splitlines()[0] for name in SUBJECTS}
    print("Each is run as `python -m benchmarks.NAME`; --quick is a smoke test, --write FILE keeps the report.\n")
    for name, line in {**lines, **OTHERS}.items():
        print(f"  {name:<10}{line.removeprefix(f'{name}: ')}")


if __name__ == "__main__":
    main()
