"""`python -m benchmarks` lists the benchmarks, one line each."""

from importlib import import_module

from benchmarks.everything import SUBJECTS

OTHERS = {
    "everything": "every subject above in one run on one commit: what `make bench` starts",
    "compare": "the targets of two reports side by side: BEFORE.md AFTER.md",
    "kills": "what killed processes lose of each kind of record: HOW_MANY",
    "versions": "two checkouts side by side, by CPU time: OLD_CHECKOUT",
}


def main() -> None:
    """Print the list."""
    lines = {name: str(import_module(f"benchmarks.{name}").__doc__).splitlines()[0] for name in SUBJECTS}
    print(
        "Each subject is run as `python -m benchmarks.NAME`; --quick is a smoke test, --write FILE keeps the report.\n"
    )
    for name, line in {**lines, **OTHERS}.items():
        print(f"  {name:<12}{line.removeprefix(f'{name}: ')}")


if __name__ == "__main__":
    main()
