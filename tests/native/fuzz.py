"""Builds the fuzzer with the sanitizers and runs it: `python tests/native/fuzz.py --seconds 600`."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
KERNEL = REPOSITORY / "src" / "pulseboard" / "native"
BUILD = REPOSITORY / "build" / "fuzz"
CORPUS = REPOSITORY.parent / "shared" / "corpus"

# Larger files only slow the fuzzer down: what matters in them is in their first records.
LARGEST_SEED_BYTES = 64 * 1024

CHECKED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
PLAIN = ["-std=gnu11", "-pthread"]
# The fuzzer sees the kernel's branches, and may refuse it memory; fuzz.c has both ends.
TRACED = ["-fsanitize-coverage=trace-pc"]
WRAPPED = ["malloc", "calloc", "realloc", "fread"]


class CannotBuild(Exception):
    """The fuzzer could not be built; the message says what to install or mend."""


def run_gcc(arguments: list[str]) -> None:
    """Run gcc, or raise CannotBuild with what it said."""
    done = subprocess.run(["gcc", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(f"gcc could not build the fuzzer.\n{done.stderr.strip()}")


def check_tools() -> None:
    """Raise CannotBuild unless gcc is here and links with both sanitizers."""
    if not shutil.which("gcc"):
        raise CannotBuild("There is no gcc here. Install it: apt install gcc, or dnf install gcc.")
    probe = BUILD / f"probe.{os.getpid()}"
    probe.with_suffix(".c").write_text("int main(void) { return 0; }\n")
    try:
        run_gcc([*CHECKED, str(probe.with_suffix(".c")), "-o", str(probe)])
    except CannotBuild as said:
        raise CannotBuild(
            "gcc cannot link with the address and undefined-behaviour sanitizers.\n"
            "Install their runtime: apt install libgcc-$(gcc -dumpversion)-dev, or dnf install libasan libubsan.\n"
            f"{said}"
        ) from said
    finally:
        probe.with_suffix(".c").unlink()
        probe.unlink(missing_ok=True)


def build() -> Path:
    """Compile the fuzzer and the kernel's C files; the path of the program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    check_tools()
    # A folder of its own: two people may build at once.
    work = BUILD / f"work.{os.getpid()}"
    work.mkdir()
    try:
        common = [*CHECKED, *PLAIN, f"-I{KERNEL}", "-c", "-o"]
        for source in sorted(KERNEL.glob("*.c")):
            if source.name != "kernel.c":  # Cython's output, if it was built in place
                run_gcc([*common, str(work / f"{source.stem}.o"), *TRACED, str(source)])
        run_gcc([*common, str(work / "fuzz.o"), "-DWRAPPED", str(HERE / "fuzz.c")])
        wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
        objects = sorted(map(str, work.glob("*.o")))
        run_gcc([*CHECKED, "-pthread", *objects, "-o", str(work / "fuzz"), "-lm", *wraps])
        return (work / "fuzz").replace(BUILD / "fuzz")
    finally:
        shutil.rmtree(work)


def seeds() -> list[str]:
    """The corpus's small event files, in an order that does not change."""
    if not CORPUS.is_dir():
        print(f"There is no corpus, so only the fuzzer's own seeds are used. {CORPUS}")
        return []
    found = (p for p in CORPUS.rglob("*tfevents*") if p.is_file() and p.stat().st_size < LARGEST_SEED_BYTES)
    return sorted(map(str, found))


def main() -> int:
    """Build, run, and say how it went; 0 when nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=20251116, help="the same seed makes the same inputs")
    parser.add_argument("--case", type=Path, help="run one saved input only")
    options = parser.parse_args()
    try:
        fuzz = build()
    except CannotBuild as problem:
        print(problem, file=sys.stderr)
        return 2
    command = [str(fuzz), "--seconds", str(options.seconds), "--seed", str(options.seed)]
    command += ["--case", str(options.case.resolve())] if options.case else seeds()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
    }
    # The fuzzer prints its counts itself, and saves a failing input in the folder it runs in.
    sys.stdout.flush()
    status = subprocess.run(command, cwd=BUILD, env=environment).returncode
    print(f"fuzz: seed {options.seed}, exit status {status}")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
