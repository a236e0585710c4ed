"""The checks of `pulseboard doctor`: each looks at one part of the installation."""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import pulseboard
from pulseboard.core.errors import MissingPackage
from pulseboard.record.optional_import import load

_EVENT_TIMEOUT_SECS = 5.0
_REINSTALL = "pip install --force-reinstall --no-cache-dir pulseboard"
# Extras for working on Pulseboard itself.
_DEVELOPMENT = frozenset({"dev", "docs", "zoo"})


@dataclass(frozen=True)
class Result:
    """What one check found."""

    check: str
    state: Literal["fine", "optional", "broken"]
    found: str
    advice: str | None = None


def examine() -> list[Result]:
    """The results of all checks. A check that fails unexpectedly is reported as broken and does not stop the others."""
    results: list[Result] = []
    for check in _CHECKS:
        try:
            results += check()
        except Exception as error:
            name = check.__name__.strip("_").replace("_", " ")
            results.append(Result(name, "broken", f"{type(error).__name__}: {error}", "please report this"))
    return results


def _version() -> Iterator[Result]:
    yield Result("pulseboard", "fine", f"{pulseboard.__version__} in {Path(pulseboard.__file__).parent}")
    yield Result("python", "fine", f"{platform.python_version()} on {platform.platform()}")


def _kernel() -> Iterator[Result]:
    from pulseboard import kernel

    names = sorted({name for _, name, _ in pkgutil.iter_modules(kernel.__path__)})
    try:
        for name in names:
            importlib.import_module(f"{kernel.__name__}.{name}")
    except ImportError as error:
        advice = f"{_REINSTALL}; in a clone: make native"
        yield Result("kernel", "broken", f"cannot be loaded: {error}", advice)
        return
    if not names:
        yield Result("kernel", "broken", "is not compiled", f"{_REINSTALL}; in a clone: make native")
        return
    yield Result("kernel", "fine", f"{len(names)} compiled modules")


def _requirements() -> Iterator[Result]:
    missing: list[str] = []
    found: list[str] = []
    for requirement in _required(extra=None):
        version = _installed(requirement)
        (found if version else missing).append(f"{requirement} {version}".strip())
    if missing:
        yield Result("packages", "broken", f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    elif found:
        yield Result("packages", "fine", ", ".join(found))


def _page() -> Iterator[Result]:
    from pulseboard.serve.http.page import PAGE_DIRECTORY

    if (PAGE_DIRECTORY / "index.html").is_file():
        yield Result("page", "fine", "built")
    else:
        advice = f"in a clone: make page; otherwise: {_REINSTALL}"
        yield Result("page", "broken", "not built, so the dashboard shows only its HTTP interface", advice)


def _file_events() -> Iterator[Result]:
    from pulseboard.read.file_events import secs_until_reported

    with tempfile.TemporaryDirectory(prefix="pulseboard-doctor-") as directory:
        secs = secs_until_reported(Path(directory), timeout_secs=_EVENT_TIMEOUT_SECS)
    if secs is not None:
        yield Result("file events", "fine", f"a change was reported after {secs:.1f} s")
        return
    advice = "runs are polled instead, which is slower (--reload_interval)"
    if sys.platform == "linux":
        advice += "; for more watches: sysctl fs.inotify.max_user_watches=1048576"
    yield Result("file events", "optional", "none arrived", advice)


def _port() -> Iterator[Result]:
    import socket

    from pulseboard.serve.settings import DEFAULT_PORT

    with socket.socket() as trial:
        trial.settimeout(1)
        taken = trial.connect_ex(("127.0.0.1", DEFAULT_PORT)) == 0
    advice = "the next free one is used; choose one with --port" if taken else None
    yield Result("port", "optional" if taken else "fine", f"{DEFAULT_PORT} is {'in use' if taken else 'free'}", advice)


def _gpu() -> Iterator[Result]:
    try:
        pynvml = load("pynvml", what="GPU telemetry", package="nvidia-ml-py", extra="gpu")
    except MissingPackage as missing:
        yield Result("GPU", "optional", "not looked for", str(missing))
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield Result("GPU", "optional", f"none that NVIDIA's driver reports ({error})")
        return
    try:
        count = pynvml.nvmlDeviceGetCount()
        names = [pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(i)) for i in range(count)]
    finally:
        pynvml.nvmlShutdown()
    texts = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    yield Result("GPU", "fine" if texts else "optional", ", ".join(texts) or "none")


def _extras() -> Iterator[Result]:
    for extra in _extra_names():
        needed = list(_required(extra=extra))
        missing = [name for name in needed if not _installed(name)]
        if missing:
            yield Result(f"extra {extra}", "optional", "not installed", f'pip install "pulseboard[{extra}]"')
        elif needed:
            yield Result(f"extra {extra}", "fine", ", ".join(f"{name} {_installed(name)}" for name in needed))


def _directories() -> Iterator[Result]:
    from pulseboard.core.user_cache import cache_directory
    from pulseboard.core.user_data import data_directory

    places = {
        "cache directory": (cache_directory(), "XDG_CACHE_HOME", "optional"),
        "data directory": (data_directory(), "PULSEBOARD_DATA_DIR", "broken"),
    }
    for check, (path, variable, otherwise) in places.items():
        existing = next(one for one in (path, *path.parents) if one.exists())
        if os.access(existing, os.W_OK | os.X_OK):
            yield Result(check, "fine", str(path))
        else:
            state: Literal["optional", "broken"] = "optional" if otherwise == "optional" else "broken"
            yield Result(check, state, f"cannot be written: {path}", f"set {variable} to a directory of yours")


_CHECKS: tuple[Callable[[], Iterator[Result]], ...] = (
    _version, _kernel, _requirements, _page, _file_events, _port, _gpu, _directories, _extras,
)  # fmt: skip


def _metadata() -> list[str]:
    try:
        return metadata.requires("pulseboard") or []
    except metadata.PackageNotFoundError:  # run from a directory of sources
        return []


def _extra_names() -> list[str]:
    found = {name for line in _metadata() for name in re.findall(r"extra == ['\"]([\w-]+)['\"]", line)}
    return sorted(found - _DEVELOPMENT)


def _required(*, extra: str | None) -> Iterator[str]:
    """The names of required packages that apply to this system: those of an extra, or those of every installation."""
    for line in _metadata():
        requirement, _, marker = line.partition(";")
        extras = re.findall(r"extra == ['\"]([\w-]+)['\"]", marker)
        if (extras != [extra]) if extra else bool(extras):
            continue
        if "python_version <" in marker and sys.version_info >= (3, 11):
            continue
        if "sys_platform !=" in marker and sys.platform == "win32":
            continue
        name = re.match(r"[\w.-]+", requirement.strip())
        if name:
            yield name[0]


def _installed(name: str) -> str:
    """The installed version; an empty string if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
