"""Build the fuzzer with the sanitizers and run it: `python tests/kernel/fuzz.py --seconds 600`."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from corpus import CORPUS

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
KERNEL = REPOSITORY / "src" / "pulseboard" / "kernel" / "c"
BUILD = REPOSITORY / "build" / "fuzz"

# Larger files only slow the fuzzer down: their first records are the interesting ones.
MAX_SEED_BYTES = 64 * 1024

CHECKED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
PLAIN = ["-std=gnu11", "-pthread"]
# The fuzzer traces the kernel's branches (driver.h) and can make its allocations fail (allocations.h).
TRACED = ["-fsanitize-coverage=trace-pc"]
WRAPPED = ["malloc", "calloc", "realloc", "fread"]


class CannotBuild(Exception):
    """The fuzzer could not be built; the message says what to install or fix."""


def run_gcc(arguments: list[str]) -> None:
    """Run gcc; raise CannotBuild with its output if it fails."""
    done = subprocess.run(["gcc", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(f"gcc could not build the fuzzer.\n{done.stderr.strip()}")


def check_tools() -> None:
    """Raise CannotBuild unless gcc is installed and links with both sanitizers."""
    if not shutil.which("gcc"):
        raise CannotBuild("gcc is not installed. Run: apt install gcc, or dnf install gcc.")
    probe = BUILD / f"probe.{os.getpid()}"
    probe.with_suffix(".c").write_text("int main(void) { return 0; }\n")
    try:
        run_gcc([*CHECKED, str(probe.with_suffix(".c")), "-o", str(probe)])
    except CannotBuild as error:
        raise CannotBuild(
            "gcc cannot link with the address and undefined-behavior sanitizers.\n"
            "Install their runtime: apt install libgcc-$(gcc -dumpversion)-dev, or dnf install libasan libubsan.\n"
            f"{error}"
        ) from error
    finally:
        probe.with_suffix(".c").unlink()
        probe.unlink(missing_ok=True)


def build() -> Path:
    """Compile the fuzzer and the kernel's C files. Returns the path of the program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    check_tools()
    # A separate folder: two builds may run at once.
    work = BUILD / f"work.{os.getpid()}"
    work.mkdir()
    try:
        folders = [KERNEL, *sorted(path for path in KERNEL.iterdir() if path.is_dir())]
        common = [*CHECKED, *PLAIN, *(f"-I{folder}" for folder in folders), "-c", "-o"]
        for source in sorted(KERNEL.rglob("*.c")):
            run_gcc([*common, str(work / f"{source.stem}.o"), *TRACED, str(source)])
        run_gcc([*common, str(work / "fuzz.o"), "-DWRAPPED", str(HERE / "fuzz" / "fuzz.c")])
        wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
        objects = sorted(map(str, work.glob("*.o")))
        run_gcc([*CHECKED, "-pthread", *objects, "-o", str(work / "fuzz"), "-lm", *wraps])
        return (work / "fuzz").replace(BUILD / "fuzz")
    finally:
        shutil.rmtree(work)


def seeds() -> list[str]:
    """The small event files of the corpus, in a fixed order."""
    if not CORPUS.is_dir():
        print(f"No corpus at {CORPUS} (set PULSEBOARD_CORPUS): only the fuzzer's own seeds are used.")
        return []
    found = (p for p in CORPUS.rglob("*tfevents*") if p.is_file() and p.stat().st_size < MAX_SEED_BYTES)
    return sorted(map(str, found))


def main() -> int:
    """Build, run and report; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, help="stop after this many inputs")
    parser.add_argument("--seed", type=int, default=20251116, help="the same seed makes the same inputs")
    parser.add_argument("--case", type=Path, help="run one saved input only")
    options = parser.parse_args()
    try:
        fuzz = build()
    except CannotBuild as problem:
        print(problem, file=sys.stderr)
        return 2
    command = [str(fuzz), "--seconds", str(options.seconds), "--seed", str(options.seed)]
    command += ["--cases", str(options.cases)] if options.cases else []
    command += ["--case", str(options.case.resolve())] if options.case else seeds()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
    }
    # The fuzzer prints its own counts, and saves a failing input in its working directory.
    sys.stdout.flush()
    status = subprocess.run(command, cwd=BUILD, env=environment).returncode
    print(f"fuzz: seed {options.seed}, exit status {status}")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
