"""Builds the compiled kernel and the dashboard's page; pyproject.toml has everything else."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent / "packaging"))
from page import build_page

KERNEL = Path("src/pulseboard/kernel")
C = KERNEL / "c"
GENERATED = Path("build/cython")
WARNINGS = ["-Wall", "-Wextra"]

# PULSEBOARD_SANITIZE=1 builds with the address and undefined-behavior sanitizers.
sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"] if os.environ.get("PULSEBOARD_SANITIZE") else []


def extension(module: Path) -> Extension:
    """One compiled module. Its first lines name the C files it needs: `# uses: events/events.c histogram.c`."""
    first_lines = module.read_text(encoding="utf-8").splitlines()[:5]
    uses = [word for line in first_lines if line.startswith("# uses:") for word in line.split()[2:]]
    return Extension(
        f"pulseboard.kernel.{module.stem}",
        sources=[str(module), *(str(C / name) for name in uses)],
        depends=sorted(str(path) for path in C.rglob("*.h")),
        include_dirs=[str(C), *(str(folder) for folder in sorted(C.iterdir()) if folder.is_dir())],
        # Without aligned loops, an unrelated change can move the histogram's inner loop and make it 4 % slower.
        extra_compile_args=["-O3", "-falign-loops=32", "-std=gnu11", "-pthread", *sanitize],
        extra_link_args=["-pthread", *sanitize],
    )


class BuildKernel(build_ext):
    """Compiles our own C files with warnings on. What Cython generates is not ours to fix, and is compiled without."""

    def build_extensions(self) -> None:
        compile_one = self.compiler._compile

        def compile_with_warnings(obj, src, ext, cc_args, extra_postargs, pp_opts):
            warnings = [] if Path(src).is_relative_to(GENERATED) else WARNINGS
            compile_one(obj, src, ext, cc_args, [*extra_postargs, *warnings], pp_opts)

        self.compiler._compile = compile_with_warnings
        super().build_extensions()


class BuildWithPage(build_py):
    """Packages the files, including the page. An editable install leaves the page to `make page`."""

    def run(self) -> None:
        if not self.editable_mode:
            build_page()
            self.data_files = self._get_data_files()  # the page did not exist when they were listed
        super().run()


class SdistWithPage(sdist):
    """Packs the sources with the built page, so that installing from them needs no Node.js."""

    def run(self) -> None:
        build_page()
        super().run()


modules = [extension(module) for module in sorted(KERNEL.glob("*.pyx"))]
setup(
    ext_modules=cythonize(modules, language_level=3, build_dir=str(GENERATED)),
    cmdclass={"build_ext": BuildKernel, "build_py": BuildWithPage, "sdist": SdistWithPage},
)
