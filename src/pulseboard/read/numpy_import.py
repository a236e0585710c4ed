"""Importing NumPy while files load: its OpenBLAS starts a thread per core, each of which spins for 20 ms or more.

They would compete with the threads that read files: a thousand runs as arrays take a fifth longer then. So they are
ended at once. OpenBLAS starts them again with the first operation that uses several, as it does after every fork.
"""

from __future__ import annotations

import os
import sys


def import_numpy() -> None:
    """Import NumPy. The threads of the OpenBLAS in its wheels wait for their first work."""
    if sys.platform == "linux" and "numpy" not in sys.modules:
        _load_idle_openblas()
    import numpy  # noqa: F401


def _load_idle_openblas() -> None:
    """Load the library before NumPy does, and end its threads. Does nothing if NumPy was built in another way."""
    import ctypes
    import glob
    from importlib.util import find_spec

    spec = find_spec("numpy")
    if spec is None or spec.origin is None:
        return
    site_packages = os.path.dirname(os.path.dirname(spec.origin))
    for path in glob.glob(os.path.join(glob.escape(site_packages), "numpy.libs", "libscipy_openblas64_*.so")):
        try:
            # PyDLL keeps the GIL: no other thread can begin to use the library before its threads have ended.
            library = ctypes.PyDLL(path)
            if "numpy" not in sys.modules:
                library.blas_thread_shutdown_()  # what the library itself calls before a fork
        except (OSError, AttributeError):
            continue  # importing NumPy says what is wrong, if anything is
