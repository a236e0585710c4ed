"""Builds the native kernel; everything else is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

NATIVE = Path("src/pulseboard/native")

# PULSEBOARD_SANITIZE=1 builds with the address and undefined-behaviour sanitizers (make fuzz).
sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"] if os.environ.get("PULSEBOARD_SANITIZE") else []

kernel = Extension(
    "pulseboard.native.kernel",
    sources=[str(NATIVE / "kernel.pyx"), *sorted(str(p) for p in NATIVE.glob("*.c") if p.name != "kernel.c")],
    depends=sorted(str(p) for p in NATIVE.glob("*.h")),
    include_dirs=[str(NATIVE)],
    extra_compile_args=["-O3", "-std=gnu11", "-pthread", *sanitize],
    extra_link_args=["-pthread", *sanitize],
)

setup(ext_modules=cythonize([kernel], language_level=3))
