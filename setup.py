"""Builds what is compiled; everything else is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent / "packaging"))
from page import build_page

NATIVE = Path("src/pulseboard/native")

# PULSEBOARD_SANITIZE=1 builds with the address and undefined-behaviour sanitizers (make fuzz).
sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"] if os.environ.get("PULSEBOARD_SANITIZE") else []


def extension(face: Path) -> Extension:
    """One compiled module. Its hand-written C files are named in its first lines: `# uses: events.c columns.c`."""
    first_lines = face.read_text(encoding="utf-8").splitlines()[:5]
    uses = [word for line in first_lines if line.startswith("# uses:") for word in line.split()[2:]]
    return Extension(
        f"pulseboard.native.{face.stem}",
        sources=[str(face), *(str(NATIVE / name) for name in uses)],
        depends=sorted(str(path) for path in NATIVE.glob("*.h")),
        include_dirs=[str(NATIVE)],
        extra_compile_args=["-O3", "-std=gnu11", "-pthread", *sanitize],
        extra_link_args=["-pthread", *sanitize],
    )


class WithPage(build_py):
    """The package's files, the page among them. An editable install leaves the page to `make page`."""

    def run(self) -> None:
        if not self.editable_mode:
            build_page()
            self.data_files = self._get_data_files()  # the page was not there when they were listed
        super().run()


faces = [extension(face) for face in sorted(NATIVE.glob("*.pyx"))]
setup(ext_modules=cythonize(faces, language_level=3, build_dir="build/cython"), cmdclass={"build_py": WithPage})
