"""The dashboard in JupyterLab's launcher: the entry point `jupyter_serverproxy_servers` of jupyter-server-proxy."""

from __future__ import annotations

import sys
from typing import Any

_NAME = "pulseboard"
_TIMEOUT_SECS = 60


def server() -> dict[str, Any]:
    """How to start the dashboard. jupyter-server-proxy fills in {port} and {base_url} and authenticates the user."""
    address = "localhost:{port}"
    return {
        "command": [
            sys.executable,
            "-m",
            "pulseboard",
            "serve",
            ".",
            "--port",
            "{port}",
            "--path_prefix",
            "{base_url}" + _NAME,
        ],
        "timeout": _TIMEOUT_SECS,
        # The page gets its own path, so that its links work below any base URL.
        "absolute_url": True,
        # The dashboard accepts only the names of this machine; the browser knows the notebook server by another one.
        "request_headers_override": {"Host": address, "Origin": "http://" + address},
        "new_browser_tab": True,
        "launcher_entry": {"title": "Pulseboard"},
    }
